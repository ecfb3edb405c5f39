/** Hooks in Fastify, whose own parsers read bodies and refuse types before a route's handler runs. */
import type { AddressInfo } from "node:net";
import Fastify, { type FastifyInstance } from "fastify";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { type RawRequest, rawExchange } from "../../src/testing/raw-http.ts";
import { type HooksServer, rawRequest, startHooks } from "../support/hooks-server.ts";
import { payment } from "../support/order-app.ts";

let hooks: HooksServer;
beforeEach(async () => {
  hooks = await startHooks();
});
afterEach(() => hooks[Symbol.asyncDispose]());

/** Serves what a test builds, and gives a way to ask it. */
async function listening(
  build: (server: FastifyInstance) => unknown,
): Promise<(request: RawRequest) => Promise<string>> {
  const server = Fastify({ bodyLimit: 100 });
  onTestFinished(() => server.close());
  await build(server);
  await server.listen({ port: 0, host: "127.0.0.1" });
  const { port } = server.server.address() as AddressInfo;
  return async (request) => {
    const { status, body } = await rawExchange(port, request);
    return `${status} ${body.toString()}`;
  };
}

const delivered = '200 {"outcome":"applied","event":"evt-1"}';

test("the plug-in takes the signed bytes, of any size and type, beside routes whose bodies Fastify parses", async () => {
  const ask = await listening(async (server) => {
    await server.register(hooks.app.fastify);
    server.post("/other", async ({ body }) => body);
  });
  expect(await ask(rawRequest(payment("evt-1"), {}))).toBe(delivered);
  const table = await ask(
    rawRequest(payment("evt-2"), {
      headers: [
        ["content-type", undefined],
        ["content-type", "text/csv"],
      ],
    }),
  );
  expect(table).toBe('415 {"error":"MEDIA_TYPE_REFUSED"}');
  const headers = [["content-type", "application/json"]] as const;
  expect(await ask({ method: "POST", path: "/other", headers, body: '{"a": 1}' })).toBe('200 {"a":1}');
  expect(await ask({ method: "GET", path: "/hooks/stripe" })).toBe('405 {"error":"METHOD_REFUSED"}');
  expect(await ask({ method: "POST", path: "/hooks/nobody", body: "{}" })).toBe('404 {"error":"UNKNOWN_CONNECTION"}');
});

test("a hook of Fastify that reads the body first is named, and nothing is kept", async () => {
  const ask = await listening(async (server) => {
    server.addHook("onRequest", async ({ raw }) => void (await raw.toArray()));
    await server.register(hooks.app.fastify);
  });
  expect(await ask(rawRequest(payment("evt-1"), {}))).toBe('500 {"error":"BODY_ALREADY_READ"}');
  expect(await hooks.receipts()).toBe(0);
});

test("a prefix, under which no hook would be found, is refused with what to do instead", async () => {
  const server = Fastify();
  onTestFinished(() => server.close());
  await expect(async () => server.register(hooks.app.fastify, { prefix: "/api" })).rejects.toMatchObject({
    code: "CONFIG_INVALID",
    message: expect.stringContaining('give basePath: "/api/hooks" to defineApp'),
  });
});
