import { CounterfoilError } from "../domain/errors.ts";
import { headersFromFetch } from "../verify/delivery-headers.ts";
import { json } from "./answer.ts";
import type { Hooks } from "./hooks.ts";

/** A handler in the shape of the Fetch standard (Hono, Next.js route handlers, Deno, workers). */
export type FetchHandler = (request: Request) => Promise<Response>;

/** Mounts hooks behind the Fetch standard. */
export function mountFetch(hooks: Hooks): FetchHandler {
  return async (request) => {
    const url = new URL(request.url);
    const target = url.pathname + url.search;
    const answer = hooks.matches(target)
      ? await hooks.handle({
          method: request.method,
          target,
          headers: headersFromFetch(request.headers),
          ...measure(request.headers),
          readBody: (bytesMax) => readFetchBody(request, bytesMax),
        })
      : json(404, { error: "UNKNOWN_CONNECTION" });
    return new Response(answer.body, { status: answer.status, headers: answer.headers });
  };
}

function measure(headers: Headers): { readonly headerBytes: number; readonly headerCount: number } {
  let headerBytes = 0;
  let headerCount = 0;
  for (const [name, value] of headers) {
    headerBytes += name.length + value.length;
    headerCount += 1;
  }
  return { headerBytes, headerCount };
}

async function readFetchBody(request: Request, bytesMax: number): Promise<Uint8Array> {
  if (request.bodyUsed) {
    throw new CounterfoilError(
      "BODY_ALREADY_READ",
      "Cannot verify the delivery: its body was read before it came here, and the signed bytes are gone; pass the request on unread",
    );
  }
  if (request.body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of request.body as AsyncIterable<Uint8Array>) {
      bytes += chunk.length;
      if (bytes > bytesMax) break;
      chunks.push(chunk);
    }
  } catch (cause) {
    throw new CounterfoilError("BODY_INCOMPLETE", "Cannot read the body: it ended early", { cause });
  }
  if (bytes > bytesMax) {
    throw new CounterfoilError(
      "BODY_TOO_LARGE",
      `Cannot read the body: it is over the connection's limit of ${bytesMax} bytes`,
    );
  }
  return Buffer.concat(chunks, bytes);
}
