import { CounterfoilError } from "../domain/errors.ts";
import { headersFromFetch } from "../verify/delivery-headers.ts";
import type { Runtime } from "../work/runtime.ts";
import { json } from "./answer.ts";
import type { BodySink } from "./body-pool.ts";
import type { Hooks } from "./hooks.ts";

/** A handler in the shape of the Fetch standard (Hono, Next.js route handlers, Deno, workers). */
export type FetchHandler = (request: Request) => Promise<Response>;

/** Mounts hooks behind the Fetch standard. */
export function mountFetch(hooks: Hooks, { limits, clock }: Pick<Runtime, "limits" | "clock">): FetchHandler {
  const deadline = (expire: () => void): (() => void) => clock.timer(limits.requestMs, expire);
  return async (request) => {
    const url = new URL(request.url);
    const target = url.pathname + url.search;
    const answer = hooks.matches(target)
      ? await hooks.handle({
          method: request.method,
          target,
          headers: headersFromFetch(request.headers),
          ...measure(request.headers),
          readBody: (body) => readFetchBody(request, { body, deadline }),
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

async function readFetchBody(
  request: Request,
  { body, deadline }: { readonly body: BodySink; readonly deadline: (expire: () => void) => () => void },
): Promise<void> {
  if (request.bodyUsed || request.body?.locked) {
    throw new CounterfoilError(
      "BODY_ALREADY_READ",
      "Cannot verify the delivery: its body was read before it came here, and the signed bytes are gone; pass the request on unread",
    );
  }
  const reader = request.body?.getReader();
  if (reader === undefined) return;
  let isLate = false;
  // Not awaited: a stream that nobody feeds may never confirm that it was left.
  const leave = (): void => void reader.cancel().catch(() => undefined);
  const cancel = deadline(() => {
    isLate = true;
    leave();
  });
  try {
    for (let chunk = await read(reader); chunk !== undefined; chunk = await read(reader)) body.add(chunk);
  } finally {
    cancel();
    leave();
  }
  if (isLate) throw new CounterfoilError("BODY_INCOMPLETE", "Cannot read the body: it did not arrive in time");
}

async function read(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<Uint8Array | undefined> {
  try {
    return (await reader.read()).value;
  } catch (cause) {
    throw new CounterfoilError("BODY_INCOMPLETE", "Cannot read the body: it ended early", { cause });
  }
}
