import type { IncomingMessage, ServerResponse } from "node:http";
import { CounterfoilError } from "../domain/errors.ts";
import type { NodeHandler } from "./mount-node.ts";

/** What of a Fastify instance the plug-in uses; named by its shape, so that no Fastify has to be there. */
export interface FastifyScope {
  readonly prefix: string;
  removeAllContentTypeParsers(): void;
  addContentTypeParser(
    contentType: string,
    parser: (request: unknown, payload: unknown, done: (error: Error | null) => void) => void,
  ): unknown;
  all(
    path: string,
    handler: (
      request: { readonly raw: IncomingMessage },
      reply: { readonly raw: ServerResponse; hijack(): unknown },
    ) => void,
  ): unknown;
}

/** A Fastify plug-in, for `register` without a prefix. */
export type FastifyPlugin = (scope: FastifyScope, options: object, done: (error?: Error) => void) => void;

/**
 * Mounts hooks on a Fastify server.
 *
 * Fastify reads JSON bodies before a handler runs, and refuses other types. Inside this plug-in's own
 * scope no body is read and no type refused, so that the hooks have the bytes as they were signed.
 */
export function mountFastify(hooks: NodeHandler, basePath: string): FastifyPlugin {
  return (scope, _options, done) => {
    if (scope.prefix !== "") {
      const message = `Cannot mount the hooks under the prefix "${scope.prefix}": register the plug-in without one, and give basePath: "${scope.prefix}${basePath}" to defineApp`;
      return done(new CounterfoilError("CONFIG_INVALID", message));
    }
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("*", (_request, _payload, parsed) => parsed(null));
    scope.all(`${basePath}/*`, (request, reply) => {
      reply.hijack();
      hooks(request.raw, reply.raw);
    });
    done();
  };
}
