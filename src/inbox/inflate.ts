import { createGunzip, gunzipSync } from "node:zlib";
import { CounterfoilError } from "../domain/errors.ts";

/** Charges bytes that are held from now until the answer; throws OVERLOADED where there is no room for them. */
export type Hold = (bytes: number) => void;

const pieceBytes = 64 * 1024;

/**
 * Inflates a gzip body (RFC 1952) piece by piece, so that one which inflates to more than the connection
 * takes is refused when it passes the limit, and never held beyond it. `undefined` where it is damaged.
 *
 * Rejects with BODY_TOO_LARGE or what `hold` throws.
 */
export async function inflate(
  body: Uint8Array,
  { bytesMax, hold }: { readonly bytesMax: number; readonly hold: Hold },
): Promise<Uint8Array | undefined> {
  const gunzip = createGunzip({ chunkSize: pieceBytes });
  const pieces: Uint8Array[] = [];
  let length = 0;
  gunzip.end(body);
  try {
    for await (const piece of gunzip as AsyncIterable<Uint8Array>) {
      length += piece.length;
      if (length > bytesMax) {
        throw new CounterfoilError(
          "BODY_TOO_LARGE",
          `Cannot read the body: it inflates to more than the connection's limit of ${bytesMax} bytes`,
        );
      }
      hold(piece.length);
      pieces.push(piece);
    }
  } catch (error) {
    if (error instanceof CounterfoilError) throw error;
    return undefined;
  }
  return Buffer.concat(pieces, length);
}

/** Inflates what was taken once; `undefined` where it is damaged, or larger than is taken today. */
export function inflateStored(body: Uint8Array, bytesMax: number): Uint8Array | undefined {
  try {
    return gunzipSync(body, { maxOutputLength: Math.max(1, bytesMax) });
  } catch {
    return undefined;
  }
}
