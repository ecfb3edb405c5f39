import type { IncomingMessage, ServerResponse } from "node:http";
import { headersFromRaw } from "../verify/delivery-headers.ts";
import type { Runtime } from "../work/runtime.ts";
import type { Answer } from "./answer.ts";
import type { BodySink } from "./body-pool.ts";
import type { Hooks } from "./hooks.ts";
import { type MountedRequest, readNodeBody } from "./node-body.ts";

/** A handler for node:http and everything built on it (Express, Connect, NestJS). */
export type NodeHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  next?: (error?: unknown) => void,
) => void;

/** Mounts hooks on a Node server; what is not theirs goes to `next`, or is 404 where there is none. */
export function mountNode(
  hooks: Hooks,
  { limits, clock, probe }: Pick<Runtime, "limits" | "clock" | "probe">,
): NodeHandler {
  return (request: MountedRequest, response, next) => {
    const target = request.originalUrl ?? request.url ?? "/";
    if (!hooks.matches(target) && next !== undefined) return next();
    const { rawHeaders } = request;
    const reading = {
      method: request.method ?? "",
      target,
      headers: headersFromRaw(rawHeaders),
      headerBytes: rawHeaders.reduce((bytes, text) => bytes + text.length, 0),
      headerCount: rawHeaders.length / 2,
      readBody: async (body: BodySink) => {
        await readNodeBody(request, { body, deadlineMs: limits.requestMs, clock });
        probe?.("receive:read");
      },
    };
    const answered = hooks.handle(reading).then((answer) => {
      // Somebody in front may have answered meanwhile, such as a time limit of the framework's.
      if (response.destroyed || response.headersSent) return;
      probe?.("receive:answer");
      write(request, response, answer);
      probe?.("receive:answered");
    });
    void answered.catch(() => fail(response));
  };
}

function write(request: IncomingMessage, response: ServerResponse, { status, headers, body }: Answer): void {
  // 204 and 304 may not tell a length (RFC 9110, 8.6).
  const length = body === null && status !== 205 ? undefined : { "content-length": Buffer.byteLength(body ?? "") };
  // What was not read must not be taken for the next request on this connection.
  const close = request.complete ? undefined : { connection: "close" };
  response.writeHead(status, { ...headers, ...length, ...close });
  response.end(body ?? undefined);
  if (close) response.once("finish", () => request.destroy());
}

/** Something in front that wrapped the response has thrown: the sender is told so, or at least does not wait. */
function fail(response: ServerResponse): void {
  try {
    response.writeHead(500).end();
  } catch {
    response.destroy();
  }
}
