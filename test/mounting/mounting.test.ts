/** Hooks inside a server of one's own: what reaches them, what they pass on, and what stands in front of them. */
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import type { App, TelemetryEvent } from "counterfoil";
import { Hono } from "hono";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { eventually } from "../../src/testing/eventually.ts";
import { type RawRequest, rawExchange } from "../../src/testing/raw-http.ts";
import { type HooksServer, rawRequest, startHooks } from "../support/hooks-server.ts";
import { payment } from "../support/order-app.ts";

let hooks: HooksServer;
let app: App;
let events: TelemetryEvent[];
beforeEach(async () => {
  hooks = await startHooks();
  ({ app } = hooks);
  events = [];
  app.subscribe((event) => void events.push(event));
});
afterEach(() => hooks[Symbol.asyncDispose]());

/** Serves a listener and gives a way to ask it. */
async function listening(
  listener: (...exchange: Parameters<RequestListener>) => unknown,
): Promise<(request: RawRequest) => Promise<string>> {
  const server = createServer((request, response) => void listener(request, response));
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return async (request) => {
    const { status, body } = await rawExchange((server.address() as AddressInfo).port, request);
    return `${status} ${body.toString()}`;
  };
}

const delivered = '200 {"outcome":"applied","event":"evt-1"}';

describe("app.node", () => {
  test("takes deliveries in a server of node:http and answers 404 to the rest", async () => {
    const ask = await listening(app.node);
    expect(await ask(rawRequest(payment("evt-1"), {}))).toBe(delivered);
    expect(await ask({ method: "GET", path: "/other" })).toBe('404 {"error":"UNKNOWN_CONNECTION"}');
  });

  test("passes on what is not its own to the next handler, unread", async () => {
    const ask = await listening((request, response) =>
      app.node(request, response, () => void text(request).then((body) => response.end(`mine: ${body}`))),
    );
    expect(await ask({ path: "/other", body: "hello" })).toBe("200 mine: hello");
    expect(await ask(rawRequest(payment("evt-1"), {}))).toBe(delivered);
  });

  test("finds its path where a router cut the mount's own from the URL", async () => {
    const ask = await listening((request, response) => {
      const originalUrl = request.url;
      app.node(Object.assign(request, { originalUrl, url: "/stripe" }), response);
    });
    expect(await ask(rawRequest(payment("evt-1"), {}))).toBe(delivered);
  });

  test("leaves an answer alone that somebody in front gave meanwhile", async () => {
    const ask = await listening(async (request, response) => {
      app.node(request, response);
      response.writeHead(503).write("too ");
      await eventually(async () => (await hooks.receipts()) === 1);
      response.end("slow");
    });
    expect(await ask(rawRequest(payment("evt-1"), {}))).toBe("503 too slow");
  });
});

describe("app.fetch", () => {
  const fetched = async (answer: Response | Promise<Response>): Promise<string> => {
    const { status, text: body } = await Promise.resolve(answer).then(async (response) => ({
      status: response.status,
      text: await response.text(),
    }));
    return `${status} ${body}`;
  };
  const request = (path = "/hooks/stripe"): Request => {
    const { headers, body } = payment("evt-1");
    return new Request(`http://localhost${path}`, { method: "POST", headers, body: Buffer.from(body) });
  };

  test("takes deliveries in Hono, beside routes of its own", async () => {
    const hono = new Hono();
    hono.all("/hooks/*", (context) => app.fetch(context.req.raw));
    hono.post("/other", (context) => context.text("mine"));
    expect(await fetched(hono.fetch(request()))).toBe(delivered);
    expect(await fetched(hono.fetch(request("/other")))).toBe("200 mine");
    expect(await fetched(hono.fetch(request("/hooks/nobody")))).toBe('404 {"error":"UNKNOWN_CONNECTION"}');
  });

  test("bounds a body that streams without a length, or with one that is none", async () => {
    const streaming = (length?: string): Request => {
      const body = ReadableStream.from(Array.from({ length: 20 }, () => Buffer.alloc(100_000)));
      const headers = { "content-type": "application/json", ...(length && { "content-length": length }) };
      return new Request("http://localhost/hooks/stripe", { method: "POST", headers, body, duplex: "half" });
    };
    for (const length of [undefined, "many", "-1"]) {
      expect(await fetched(app.fetch(streaming(length)))).toBe('413 {"error":"BODY_TOO_LARGE"}');
    }
  });

  test("names a body that was read before it came here", async () => {
    const hono = new Hono();
    hono.use(async (context, next) => {
      await context.req.raw.json();
      await next();
    });
    hono.all("/hooks/*", (context) => app.fetch(context.req.raw));
    expect(await fetched(hono.fetch(request()))).toBe('500 {"error":"BODY_ALREADY_READ"}');
    expect(await hooks.receipts()).toBe(0);
  });
});

describe("a body parser in front", () => {
  /** What a parser may leave behind once it has read the stream. */
  const parsers: readonly [string, (request: IncomingMessage) => Promise<unknown>][] = [
    ["that parsed it", async (request) => JSON.parse(await text(request))],
    ["that wrote it anew as text", async (request) => JSON.stringify(JSON.parse(await text(request)))],
    ["that consumed it and kept nothing", async (request) => void (await text(request))],
    ["that read its beginning", (request) => firstByte(request)],
  ];
  test.each(parsers)("%s is named, never a bad signature, and nothing is kept", async (_name, parse) => {
    const ask = await listening(async (request, response) => {
      const body = await parse(request);
      app.node(Object.assign(request, body === undefined ? {} : { body }), response);
    });
    expect(await ask(rawRequest(payment("evt-1"), {}))).toBe('500 {"error":"BODY_ALREADY_READ"}');
    expect(events).toMatchObject([{ kind: "delivery.refused", connection: "stripe", code: "BODY_ALREADY_READ" }]);
    expect(await hooks.receipts()).toBe(0);
  });

  test("that hands on the bytes as they came is welcome, within the connection's limit", async () => {
    const ask = await listening(async (request, response) => {
      app.node(Object.assign(request, { body: Buffer.from(await text(request)) }), response);
    });
    expect(await ask(rawRequest(payment("evt-1"), {}))).toBe(delivered);
    const large = payment("evt-2", "order-1", { pad: "x".repeat(1024 * 1024) });
    expect(await ask(rawRequest(large, {}))).toBe('413 {"error":"BODY_TOO_LARGE"}');
  });
});

async function text(request: IncomingMessage): Promise<string> {
  return Buffer.concat(await request.toArray()).toString();
}

async function firstByte(request: IncomingMessage): Promise<void> {
  await new Promise((resolve) => void request.once("readable", resolve));
  request.read(1);
}
