import type { IncomingMessage } from "node:http";
import type { Clock } from "../domain/clock.ts";
import { CounterfoilError } from "../domain/errors.ts";

/** What a framework may have put on the request before it came here. */
export interface MountedRequest extends IncomingMessage {
  /** Express keeps the path here that it strips from `url`. */
  readonly originalUrl?: string;
  /** Set by a body parser: a Buffer by `express.raw`, anything else by one that lost the bytes. */
  readonly body?: unknown;
}

/**
 * Reads a request's body as the bytes that arrived, never holding more than the limit.
 *
 * Rejects with BODY_ALREADY_READ when a body parser consumed it: the signed bytes are gone then, and
 * writing the parsed body out again would not bring them back.
 */
export function readNodeBody(
  request: MountedRequest,
  { bytesMax, deadlineMs, clock }: { readonly bytesMax: number; readonly deadlineMs: number; readonly clock: Clock },
): Promise<Uint8Array> {
  if (request.body instanceof Uint8Array) {
    return request.body.length > bytesMax ? Promise.reject(tooLarge(bytesMax)) : Promise.resolve(request.body);
  }
  if (request.body !== undefined || request.readableDidRead) return Promise.reject(alreadyRead(request.body));
  return collect(request, bytesMax, (expire) => clock.timer(deadlineMs, expire));
}

function collect(
  request: IncomingMessage,
  bytesMax: number,
  deadline: (expire: () => void) => () => void,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const end = (error?: CounterfoilError): void => {
      cancel();
      // Only our own: what else watches this request, such as tracing, goes on.
      request.off("data", onData).off("end", onEnd).off("close", onClose);
      if (error) reject(error);
      else resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, bytes));
    };
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length;
      if (bytes > bytesMax) end(tooLarge(bytesMax));
      else chunks.push(chunk);
    };
    const onEnd = (): void => end();
    const onClose = (): void =>
      end(
        new CounterfoilError("BODY_INCOMPLETE", "Cannot read the body: the sender ended the connection before its end"),
      );
    const cancel = deadline(() =>
      end(new CounterfoilError("BODY_INCOMPLETE", "Cannot read the body: it did not arrive in time")),
    );
    request.on("data", onData).on("end", onEnd).on("close", onClose);
    // Without a listener an aborted request would throw; `close` follows and tells.
    request.on("error", () => undefined);
  });
}

function tooLarge(bytesMax: number): CounterfoilError {
  return new CounterfoilError(
    "BODY_TOO_LARGE",
    `Cannot read the body: it is over the connection's limit of ${bytesMax} bytes`,
  );
}

function alreadyRead(body: unknown): CounterfoilError {
  const what = typeof body === "object" ? "parsed it" : "consumed it";
  return new CounterfoilError(
    "BODY_ALREADY_READ",
    `Cannot verify the delivery: a body parser in front ${what}, and the signed bytes are gone; mount the hooks before it, or use express.raw({ type: "*/*" }) on this path`,
  );
}
