/** Requests that nobody honest sends, and honest ones that were changed on their way: none may be taken. */
import { gzipSync } from "node:zlib";
import type { SeededRandom } from "../../src/testing/random.ts";
import { chunkedBytes, requestBytes } from "../../src/testing/raw-http.ts";
import { item, signedBatch, signedBytes, signedEvent } from "../support/case-delivery.ts";

/** Bytes for one connection, cut where they are sent apart; where it has no end the sender leaves. */
export interface FuzzRequest {
  readonly parts: readonly Uint8Array[];
  readonly endless: boolean;
}

const paths = [
  "sender",
  "zipped",
  "inside",
  "posted",
  "fields",
  "bundled",
  "shops/acme",
  "shops/nobody",
  "shops/broken",
];
const odd = [
  "nobody",
  "",
  "%",
  "%00",
  "%2e%2e",
  "..",
  "sender/",
  "sender/token",
  "shops/%61cme?x=%",
  "__proto__",
  "constructor",
];
const methods = [
  "POST",
  "POST",
  "POST",
  "POST",
  "GET",
  "PUT",
  "DELETE",
  "HEAD",
  "OPTIONS",
  "PATCH",
  "post",
  "TRACE",
  "XYZZY",
];
const types = [
  "application/json",
  "application/json; charset=utf-8",
  "application/json; charset=utf-16",
  "application/x-www-form-urlencoded",
  "text/plain",
  "multipart/form-data; boundary=x",
  ";;;",
  "",
];
const encodings = ["gzip", "GZIP", "br", "deflate", "gzip, gzip", "identity", "", "x\u0080"];
const texts = [
  "",
  "{}",
  "[]",
  "null",
  "{",
  '{"events":[',
  '{"__proto__":{}}',
  '{"id":"a","id":"b"}',
  "\ufeff{}",
  "a=%",
  "payload=%7B%7D",
  "1e999",
];

/** Makes the next request; the same chance makes the same one. */
export function fuzzRequest(random: SeededRandom): FuzzRequest {
  const { pick, below } = random;
  const delivery = pick([event, batch, form])(random);
  const body = bodyOf(random, delivery.body);
  const headers = headersOf(random, Object.entries(delivery.headers));
  const path = `/hooks/${below(10) === 0 ? pick(odd) : pick(paths)}`;
  const method = pick(methods);
  const request = framed(random, { method, path, headers, body });
  const bytes = below(12) === 0 ? changed(random, request.bytes) : request.bytes;
  const cut = below(20) === 0 ? bytes.subarray(0, below(bytes.length)) : bytes;
  return { parts: cutUp(random, cut), endless: request.endless || bytes !== request.bytes || cut !== bytes };
}

type Headers = readonly (readonly [string, string])[];

function event({ below }: SeededRandom) {
  return signedEvent(`evt-${below(9)}`, { n: below(9) });
}

function batch({ below }: SeededRandom) {
  return signedBatch(Array.from({ length: below(4) }, (_, n) => item(`evt-${n}`)));
}

function form({ below }: SeededRandom) {
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  return signedBytes(`id=evt-${below(9)}&type=changed&payload=%7B%22id%22%3A%22x%22%7D`, headers);
}

/** Never the bytes that were signed: at least one is another, or there are more or fewer. */
function bodyOf({ below, pick, next }: SeededRandom, signed: Uint8Array): Uint8Array {
  const other = (): Uint8Array => {
    switch (below(6)) {
      case 0:
        return Buffer.from(pick(texts));
      case 1:
        return Buffer.from(Array.from({ length: below(200) }, () => below(256)));
      case 2:
        return Buffer.from(pick(["[", '{"a":', "{"]).repeat(below(3_000)));
      case 3:
        return Buffer.alloc(below(5) === 0 ? 80_000 : below(2_000), below(256));
      case 4:
        return signed.subarray(0, Math.floor(signed.length * next()));
      default: {
        const flipped = Buffer.from(signed);
        const at = below(Math.max(1, flipped.length));
        if (flipped.length > 0) flipped[at] = (flipped[at] ?? 0) ^ (1 << below(8));
        return flipped;
      }
    }
  };
  const body = other();
  // Where both are empty the signature would hold.
  const unsigned = Buffer.compare(body, signed) === 0 ? Buffer.from("x") : body;
  if (below(6) > 0) return unsigned;
  const zipped = gzipSync(unsigned);
  return below(2) === 0 ? zipped : zipped.subarray(0, below(zipped.length));
}

function headersOf({ below, pick }: SeededRandom, given: Headers): Headers {
  const headers: (readonly [string, string])[] = [...given];
  if (below(3) === 0) headers.push(["content-encoding", pick(encodings)]);
  if (below(3) === 0) headers.push(["content-type", pick(types)]);
  if (below(6) === 0) headers.push(["x-signature", pick(["", "0", "zz", "00".repeat(32), "a".repeat(9_000), "a, b"])]);
  const others = [
    pick(["x-a", "cookie", "expect", "upgrade"]),
    pick(["\u0000", "\u00ff", "100-continue", "x"]),
  ] as const;
  if (below(12) === 0) headers.push(others);
  if (below(40) === 0) headers.push(...Array.from({ length: 250 }, (_, n) => [`x-${n}`, "y"] as const));
  return headers.filter(() => below(12) > 0);
}

function framed(
  { below, pick }: SeededRandom,
  request: { readonly method: string; readonly path: string; readonly headers: Headers; readonly body: Uint8Array },
): { readonly bytes: Uint8Array; readonly endless: boolean } {
  const { headers, body } = request;
  switch (below(8)) {
    case 0: {
      const middle = below(body.length + 1);
      const chunks = chunkedBytes(body.subarray(0, middle), body.subarray(middle));
      const head = requestBytes({ ...request, headers: [...headers, ["transfer-encoding", "chunked"]], body: "" });
      return { bytes: Buffer.concat([head, chunks]), endless: false };
    }
    case 1: {
      const length = pick(["-1", "x", String(body.length + 5), "0", "99999999999", "1, 2"]);
      return { bytes: requestBytes({ ...request, headers: [...headers, ["content-length", length]] }), endless: true };
    }
    case 2: {
      const both = [...headers, ["transfer-encoding", pick(["chunked", "gzip", "chunked, chunked"])] as const];
      return { bytes: requestBytes({ ...request, headers: both }), endless: true };
    }
    default:
      return { bytes: requestBytes(request), endless: request.method === "HEAD" };
  }
}

function changed({ below }: SeededRandom, bytes: Uint8Array): Uint8Array {
  const other = Buffer.from(bytes);
  // In the head: what is behind it was changed already.
  const at = below(Math.min(other.length, 200));
  other[at] = below(256);
  return other;
}

function cutUp({ below }: SeededRandom, bytes: Uint8Array): readonly Uint8Array[] {
  if (below(4) > 0) return [bytes];
  const at = below(bytes.length + 1);
  return [bytes.subarray(0, at), bytes.subarray(at)];
}
