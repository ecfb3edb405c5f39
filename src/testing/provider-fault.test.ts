import { expect, onTestFinished, test } from "vitest";
import { eventually } from "./eventually.ts";
import { startFakeProvider, type FakeProvider } from "./fake-provider.ts";
import type { Fault } from "./provider-fault.ts";
import { headerValues, openRaw, requestBytes, type RawAnswer, type RawConnection } from "./raw-http.ts";

const request = requestBytes({
  path: "/v1/shipments",
  headers: [["idempotency-key", "k1"]],
  body: `{"ref":"k1"}`,
});

async function start(...faults: Fault[]): Promise<FakeProvider> {
  const provider = await startFakeProvider();
  onTestFinished(async () => provider[Symbol.asyncDispose]());
  provider.failNext(...faults);
  return provider;
}

async function open(provider: FakeProvider): Promise<RawConnection> {
  const connection = await openRaw(Number(new URL(provider.url).port));
  onTestFinished(async () => connection[Symbol.asyncDispose]());
  await connection.send(request);
  return connection;
}

async function send(provider: FakeProvider): Promise<RawAnswer> {
  return (await open(provider)).read();
}

test.each([
  { when: "before" as const, effects: 0 },
  { when: "after" as const, effects: 1 },
])("a reset $when the effect leaves $effects effects and no byte of an answer", async ({ when, effects }) => {
  const provider = await start({ when, kind: "reset" });
  await expect(send(provider)).rejects.toMatchObject({ code: "ECONNRESET" });
  expect(provider.counts()).toMatchObject({ requests: 1, effects });
  expect(headerValues(await send(provider), "idempotent-replayed")).toEqual(effects === 1 ? ["true"] : []);
  expect(provider.counts().effects).toBe(1);
});

test("a close after the effect ends the connection without a byte", async () => {
  const provider = await start({ when: "after", kind: "close" });
  expect(await (await open(provider)).rest()).toEqual(Buffer.alloc(0));
  expect(provider.counts().effects).toBe(1);
});

test.each<{ readonly status: number; readonly headers: Readonly<Record<string, string | string[]>> }>([
  { status: 500, headers: {} },
  { status: 503, headers: { "retry-after": "120" } },
  { status: 429, headers: { "retry-after": ["1", "2"] } },
  { status: 307, headers: { location: "http://127.0.0.1:1/" } },
])("an answer of $status before the effect has its headers and no effect", async ({ status, headers }) => {
  const provider = await start({ when: "before", kind: "answer", status, headers });
  const answer = await send(provider);
  expect(answer.status).toBe(status);
  for (const [name, value] of Object.entries(headers)) expect(headerValues(answer, name)).toEqual([value].flat());
  expect(provider.counts().effects).toBe(0);
  expect((await send(provider)).status).toBe(201);
});

test("a 504 and a body that does not fit come after the effect", async () => {
  const provider = await start(
    { when: "after", kind: "answer", status: 504 },
    { when: "after", kind: "answer", status: 200, body: `{"unexpected":true}` },
  );
  expect((await send(provider)).status).toBe(504);
  expect((await send(provider)).body.toString()).toBe(`{"unexpected":true}`);
  expect(provider.counts()).toMatchObject({ requests: 2, effects: 1 });
});

test("a half-close sends the whole head and none of the body", async () => {
  const provider = await start({ when: "after", kind: "half-close" });
  const text = (await (await open(provider)).rest()).toString();
  expect(text).toMatch(/^HTTP\/1.1 201 Created\r\n/);
  expect(text).toMatch(/content-length: \d\d/);
  expect(text.endsWith("\r\n\r\n")).toBe(true);
  expect(provider.counts().effects).toBe(1);
});

test("a slow body arrives byte by byte and whole, and the connection lives on", async () => {
  const provider = await start({ when: "after", kind: "slow-body", gapMs: 2 });
  const connection = await open(provider);
  let pieces = 0;
  while (!(await connection.peek()).includes("}")) pieces += 1;
  expect(pieces).toBeGreaterThan(5);
  expect((await connection.read()).body.toString()).toBe(`{"id":"shp_1","ref":"k1"}`);
  await connection.send(request);
  expect((await connection.read()).status).toBe(201);
});

test("a flood ends when it is over, and when the caller hangs up", async () => {
  const provider = await start(
    { when: "after", kind: "flood", bytes: 200_000 },
    { when: "after", kind: "flood", bytes: Number.MAX_SAFE_INTEGER },
  );
  expect((await send(provider)).body.length).toBe(200_000);
  const connection = await open(provider);
  await connection.peek();
  connection.reset();
  expect((await send(provider)).status).toBe(201);
});

test("raw bytes arrive exactly, however broken", async () => {
  const provider = await start({ when: "after", kind: "raw", text: "HTTP/1.1 abc\r\n\r\n" });
  expect((await (await open(provider)).rest()).toString()).toBe("HTTP/1.1 abc\r\n\r\n");
});

test("a held request performs its effect on release, although its caller has gone", async () => {
  const provider = await start({ when: "before", kind: "hold" });
  const connection = await open(provider);
  await eventually(() => provider.held === 1);
  connection.reset();
  provider.release();
  expect(provider.held).toBe(0);
  await eventually(() => provider.counts().effects === 1);
});

test("an answer held after the effect is sent on release", async () => {
  const provider = await start({ when: "after", kind: "hold" });
  const connection = await open(provider);
  await eventually(() => provider.held === 1);
  expect(provider.counts().effects).toBe(1);
  provider.release();
  expect((await connection.read()).status).toBe(201);
});

test("a held lookup goes on when it is released", async () => {
  const provider = await start();
  provider.failNextLookup({ when: "before", kind: "hold" });
  const lookup = fetch(`${provider.url}/v1/shipments?ref=k1`);
  await eventually(() => provider.held === 1);
  provider.release();
  expect((await lookup).status).toBe(200);
});

test("a closed provider never performs what it held", async () => {
  const provider = await start({ when: "before", kind: "hold" });
  const connection = await open(provider);
  await eventually(() => provider.held === 1);
  await provider.close();
  provider.release();
  await expect(connection.read()).rejects.toThrow();
  expect(provider.counts().effects).toBe(0);
});

test("faults are scripted in order, then decided by a function, then over", async () => {
  const provider = await start({ when: "before", kind: "answer", status: 500 });
  provider.failWhen(({ method, key }) =>
    method === "POST" && key === "k1" ? { when: "before", kind: "answer", status: 429 } : undefined,
  );
  expect((await send(provider)).status).toBe(500);
  expect((await send(provider)).status).toBe(429);
  provider.failWhen(() => undefined);
  expect((await send(provider)).status).toBe(201);
});
