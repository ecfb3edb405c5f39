import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

/** An HTTP answer before it is put on the wire. */
export interface ProviderAnswer {
  readonly status: number;
  readonly headers?: OutgoingHttpHeaders;
  readonly body: string;
}

/**
 * What goes wrong with one request, and whether before or after its effect took place. Of a lookup,
 * which has no effect, both mean the same.
 */
export type Fault = {
  /** `"before"`: the effect does not happen. `"after"`: it happened, and only the answer suffers. */
  readonly when: "before" | "after";
} & FaultKind;

/** What can go wrong with the answer to a request. */
export type FaultKind =
  /** Any answer: 429 or 503 with `retry-after`, 504, a redirect, a body that does not fit. */
  | {
      readonly kind: "answer";
      readonly status: number;
      readonly headers?: OutgoingHttpHeaders;
      readonly body?: string;
      /** Keep the answer under the request's key and replay it, as providers do that store their own errors. */
      readonly kept?: boolean;
    }
  /** The connection is reset (RST) without an answer. */
  | { readonly kind: "reset" }
  /** The connection is closed (FIN) without an answer. */
  | { readonly kind: "close" }
  /** Status and headers arrive, then the connection is closed in place of the body. */
  | { readonly kind: "half-close" }
  /** The body arrives one byte at a time, `gapMs` apart. */
  | { readonly kind: "slow-body"; readonly gapMs: number }
  /** A body of this many bytes of padding, in chunks, for as long as the caller reads. */
  | { readonly kind: "flood"; readonly bytes: number }
  /** These exact bytes, then the end of the connection: broken status lines, repeated headers, an interim answer. */
  | { readonly kind: "raw"; readonly text: string }
  /** Nothing happens until the test releases the request, which then goes on as usual. Never released, it never answers. */
  | { readonly kind: "hold" };

/** Puts an answer on the wire as it is. */
export function sendAnswer(response: ServerResponse, { status, headers, body }: ProviderAnswer): void {
  response.writeHead(status, { ...lengthOf(body), ...headers });
  response.end(body);
}

/** Puts an answer on the wire as the fault has it. */
export async function sendFaulty(
  response: ServerResponse,
  answer: ProviderAnswer,
  fault: Exclude<FaultKind, { kind: "hold" }>,
): Promise<void> {
  switch (fault.kind) {
    case "answer":
      return sendAnswer(response, { body: "", ...fault });
    case "reset":
      return void response.socket?.resetAndDestroy();
    case "close":
      return void response.socket?.destroy();
    case "half-close":
      response.writeHead(answer.status, { ...lengthOf(answer.body), ...answer.headers }).flushHeaders();
      return void response.socket?.end();
    case "slow-body":
      return drip(response, answer, fault.gapMs);
    case "flood":
      response.writeHead(answer.status, { "content-type": "application/json" });
      // The caller is expected to hang up in the middle; that is no error of this side.
      return pipeline(Readable.from(padding(fault.bytes)), response).catch(() => undefined);
    case "raw":
      return void response.socket?.end(fault.text);
    default:
      return fault satisfies never;
  }
}

function lengthOf(body: string): OutgoingHttpHeaders {
  return { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
}

function drip(response: ServerResponse, { status, headers, body }: ProviderAnswer, gapMs: number): void {
  const bytes = Buffer.from(body);
  let sent = 0;
  response.writeHead(status, { ...lengthOf(body), ...headers }).flushHeaders();
  const timer = setInterval(() => {
    response.write(bytes.subarray(sent, (sent += 1)));
    if (sent >= bytes.length) response.end();
  }, gapMs).unref();
  response.once("close", () => clearInterval(timer));
}

function* padding(bytes: number): Generator<Buffer> {
  const chunk = Buffer.alloc(65_536, " ");
  for (let left = bytes; left > 0; left -= chunk.length) yield chunk.subarray(0, left);
}
