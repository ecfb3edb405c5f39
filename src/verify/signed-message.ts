import { hash } from "node:crypto";
import { crc32 } from "node:zlib";
import type { SignedPart } from "./scheme.ts";

/** What the signed parts stand for in one delivery. */
export interface PartValues {
  readonly body: Uint8Array;
  readonly timestamp: string;
  readonly header: (name: string) => string;
  readonly method: string;
  /** The public URL with the query as it came; `undefined` where none is configured. */
  readonly url: string | undefined;
  readonly secret: string;
}

/**
 * Puts the signed bytes together, after `room` free bytes; `undefined` where a part is not there to be
 * signed. Headers count by the bytes that were on the wire: HTTP hands them over as Latin-1, so that is
 * how they go back.
 */
export function signedMessage(parts: readonly SignedPart[], values: PartValues, room: number): Buffer | undefined {
  const pieces: (Uint8Array | string)[] = [];
  let length = room;
  for (const part of parts) {
    const piece = pieceOf(part, values);
    if (piece === undefined) return undefined;
    pieces.push(piece);
    length += piece.length;
  }
  const message = Buffer.allocUnsafe(length);
  let at = room;
  for (const piece of pieces) {
    if (typeof piece === "string") message.write(piece, at, "latin1");
    else message.set(piece, at);
    at += piece.length;
  }
  return message;
}

function pieceOf(part: SignedPart, values: PartValues): Uint8Array | string | undefined {
  switch (part) {
    case "body":
      return values.body;
    case "timestamp":
      return values.timestamp;
    case "method":
      return values.method;
    case "url":
      return values.url && Buffer.from(values.url);
    case "crc32":
      return String(crc32(values.body));
    case "secret":
      return Buffer.from(values.secret);
    default:
      return madePiece(part, values);
  }
}

function madePiece(part: Exclude<SignedPart, string>, values: PartValues): Uint8Array | string | undefined {
  if ("literal" in part) return Buffer.from(part.literal);
  if ("url" in part) return values.url && Buffer.from(portedUrl(values.url, part.url));
  if ("form" in part) return formPiece(part.form.orBodyHashParam, values);
  const value = values.header(part.header);
  if (part.after === undefined) return value;
  return value.startsWith(part.after) ? value.slice(part.after.length) : undefined;
}

/** Changes the port by the text alone: whatever else is in the URL counts as it was configured. */
function portedUrl(url: string, port: "with_port" | "without_port"): string {
  const [, scheme = "", host = "", rest = ""] = /^(https?:\/\/)([^/?#]*)(.*)$/s.exec(url) ?? [];
  const bare = host.replace(/:\d+$/, "");
  if (port === "without_port") return scheme + bare + rest;
  return bare === host ? `${scheme}${host}:${scheme === "https://" ? "443" : "80"}${rest}` : url;
}

/** Values of a repeated name count once each, sorted too. */
function formPiece(hashParam: string, { body, header, url = "" }: PartValues): Uint8Array | string | undefined {
  if (!/^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(header("content-type"))) {
    const given = new URLSearchParams(url.slice(url.indexOf("?") + 1)).getAll(hashParam);
    return given.length === 1 && given[0]?.toLowerCase() === hash("sha256", body, "hex") ? "" : undefined;
  }
  const fields = new URLSearchParams(Buffer.from(body).toString());
  const names = [...new Set(fields.keys())].toSorted();
  const values = (name: string): string[] => [...new Set(fields.getAll(name))].toSorted();
  return Buffer.from(names.flatMap((name) => values(name).map((value) => name + value)).join(""));
}
