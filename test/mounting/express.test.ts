/** Hooks in Express, beside its routers and its body parsers. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import express from "express";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { rawExchange } from "../../src/testing/raw-http.ts";
import { type HooksServer, rawRequest, startHooks } from "../support/hooks-server.ts";
import { payment } from "../support/order-app.ts";

let hooks: HooksServer;
beforeEach(async () => {
  hooks = await startHooks();
});
afterEach(() => hooks[Symbol.asyncDispose]());

type Server = ReturnType<typeof express>;

/** Delivers a signed payment to the server that a test builds. */
async function deliver(build: (server: Server) => void, path = "/hooks/stripe"): Promise<string> {
  const server = express();
  build(server);
  const listener = createServer(server);
  await new Promise<void>((resolve) => void listener.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void listener.close());
  const { port } = listener.address() as AddressInfo;
  const { status, body } = await rawExchange(port, rawRequest(payment("evt-1"), { path }));
  return `${status} ${body.toString()}`;
}

const delivered = '200 {"outcome":"applied","event":"evt-1"}';

describe("hooks in Express take the signed bytes", () => {
  test("in front of body parsers, which go on to serve everything else", async () => {
    const build = (server: Server): void => {
      server.use(hooks.app.node);
      server.use(express.json());
      server.use("/other", (request, response) => void response.end(typeof Reflect.get(request, "body")));
    };
    expect(await deliver(build)).toBe(delivered);
    expect(await deliver(build, "/other")).toBe("200 object");
  });

  test("under a path of a router, which Express cuts from the URL", async () => {
    const router = express.Router().use(hooks.app.node);
    expect(await deliver((server) => server.use("/hooks", router))).toBe(delivered);
  });

  test("behind express.raw, which hands on a Buffer", async () => {
    const raw = express.raw({ type: "*/*", limit: "25mb" });
    expect(await deliver((server) => server.use("/hooks", raw).use(hooks.app.node))).toBe(delivered);
  });
});

describe("a body parser of Express in front", () => {
  test.each([
    ["express.json", express.json()],
    ["express.text", express.text({ type: "*/*" })],
  ])("%s is named, and nothing is kept", async (_name, parser) => {
    expect(await deliver((server) => server.use(parser).use(hooks.app.node))).toBe('500 {"error":"BODY_ALREADY_READ"}');
    expect(await hooks.receipts()).toBe(0);
  });

  test("that leaves this content type alone does no harm", async () => {
    expect(await deliver((server) => server.use(express.urlencoded()).use(hooks.app.node))).toBe(delivered);
  });
});
