import { createHash } from "node:crypto";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { readPath, type Json } from "../domain/json.ts";

const bodyBytesMax = 1_048_576;

/** A request as a fake provider received it. */
export interface ProviderRequest {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The Idempotency-Key header. */
  readonly key?: string | undefined;
  /** The body's own `ref`. */
  readonly ref?: string | undefined;
}

/** Reads a whole request; `undefined` when its caller hung up in the middle, and no body beyond 1 MiB. */
export async function readRequest(message: IncomingMessage): Promise<ProviderRequest | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of message as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes <= bodyBytesMax) chunks.push(chunk);
    }
  } catch {
    return undefined;
  }
  const body = bytes <= bodyBytesMax ? Buffer.concat(chunks).toString() : "";
  const ref = readPath(parseJson(body), ["ref"]);
  const { method = "", url = "/", headers } = message;
  return {
    method,
    url,
    headers,
    body,
    key: headers["idempotency-key"]?.toString(),
    ref: typeof ref === "string" ? ref : undefined,
  };
}

/** The JSON in a text; `undefined` when it is none. */
export function parseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** What must be the same for two requests under one key to be the same request. */
export function requestDigest({ method, url, body }: ProviderRequest): string {
  return createHash("sha256").update(`${method} ${url}\n${body}`).digest("hex");
}
