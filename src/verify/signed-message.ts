import type { SignedPart } from "./scheme.ts";

/** What the signed parts stand for in one delivery. */
export interface PartValues {
  readonly body: Uint8Array;
  readonly timestamp: string;
  readonly header: (name: string) => string;
}

/**
 * Puts the signed bytes together, after `room` free bytes. Headers count by the bytes that were on the
 * wire: HTTP hands them over as Latin-1, so that is how they go back.
 */
export function signedMessage(parts: readonly SignedPart[], values: PartValues, room: number): Buffer {
  const pieces = parts.map((part) => pieceOf(part, values));
  const message = Buffer.allocUnsafe(pieces.reduce((length, piece) => length + piece.length, room));
  let at = room;
  for (const piece of pieces) {
    if (typeof piece === "string") message.write(piece, at, "latin1");
    else message.set(piece, at);
    at += piece.length;
  }
  return message;
}

function pieceOf(part: SignedPart, values: PartValues): Uint8Array | string {
  if (part === "body") return values.body;
  if (part === "timestamp") return values.timestamp;
  return "literal" in part ? Buffer.from(part.literal) : values.header(part.header);
}
