import type { IncomingMessage } from "node:http";
import type { Clock } from "../domain/clock.ts";
import { CounterfoilError } from "../domain/errors.ts";
import type { BodySink } from "./body-pool.ts";

/** What a framework may have put on the request before it came here. */
export interface MountedRequest extends IncomingMessage {
  /** Express keeps the path here that it strips from `url`. */
  readonly originalUrl?: string;
  /** Set by a body parser: a Buffer by `express.raw`, anything else by one that lost the bytes. */
  readonly body?: unknown;
}

/**
 * Reads a request's body as the bytes that arrived, in time and never more than there is room for.
 *
 * Rejects with BODY_ALREADY_READ when a body parser consumed it: the signed bytes are gone then, and
 * writing the parsed body out again would not bring them back.
 */
export async function readNodeBody(
  request: MountedRequest,
  { body, deadlineMs, clock }: { readonly body: BodySink; readonly deadlineMs: number; readonly clock: Clock },
): Promise<void> {
  if (request.body instanceof Uint8Array) return body.add(request.body);
  if (request.body !== undefined || request.readableDidRead) throw alreadyRead(request.body);
  await collect(request, body, (expire) => clock.timer(deadlineMs, expire));
}

function collect(
  request: IncomingMessage,
  body: BodySink,
  deadline: (expire: () => void) => () => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (error?: Error): void => {
      cancel();
      // Only our own: what else watches this request, such as tracing, goes on.
      request.off("data", onData).off("end", onEnd).off("close", onClose);
      if (error === undefined) resolve();
      else reject(error);
    };
    const onData = (chunk: Buffer): void => {
      try {
        body.add(chunk);
      } catch (error) {
        end(error as Error);
      }
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

function alreadyRead(body: unknown): CounterfoilError {
  const what = typeof body === "object" ? "parsed it" : "consumed it";
  return new CounterfoilError(
    "BODY_ALREADY_READ",
    `Cannot verify the delivery: a body parser in front ${what}, and the signed bytes are gone; mount the hooks before it, or use express.raw({ type: "*/*" }) on this path`,
  );
}
