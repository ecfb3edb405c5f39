import type { IncomingMessage, ServerResponse } from "node:http";
import { headersFromRaw } from "../verify/delivery-headers.ts";
import type { Runtime } from "../work/runtime.ts";
import type { Answer } from "./answer.ts";
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
      readBody: async (bytesMax: number) => {
        const body = await readNodeBody(request, { bytesMax, deadlineMs: limits.requestMs, clock });
        probe?.("receive:read");
        return body;
      },
    };
    void hooks.handle(reading).then((answer) => {
      // Somebody in front may have answered meanwhile, such as a time limit of the framework's.
      if (response.destroyed || response.headersSent) return;
      probe?.("receive:answer");
      write(request, response, answer);
      probe?.("receive:answered");
    });
  };
}

function write(request: IncomingMessage, response: ServerResponse, answer: Answer): void {
  // What was not read must not be taken for the next request on this connection.
  const close = request.complete ? undefined : { connection: "close" };
  response.writeHead(answer.status, { ...answer.headers, "content-length": Buffer.byteLength(answer.body), ...close });
  response.end(answer.body);
  if (close) response.once("finish", () => request.destroy());
}
