/** HTTP in a thread of its own, beside an application in the thread of the test. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { signDelivery } from "counterfoil/providers";
import * as fc from "fast-check";
import { expect, onTestFinished, test, vi } from "vitest";
import { eventually } from "../../src/testing/eventually.ts";
import { chunkedBytes, openRaw, type RawAnswer, rawExchange, requestBytes } from "../../src/testing/raw-http.ts";
import { careless, caseSecret, signedBytes, signedEvent } from "../support/case-delivery.ts";
import { configuration, type FrontServer, frontServer, hook, kept, live, told } from "./front-server.ts";

vi.setConfig({ testTimeout: 120_000 });

const patience = { lockMs: 60_000, queueMs: 60_000 };
const applied = (event: string): string => `200 {"outcome":"applied","event":"${event}"}`;
const refused = '401 {"error":"SIGNATURE_REFUSED"}';
const forged = (id: string) => hook({ ...signedEvent(id), body: Buffer.from(`{"id":"${id}"}`) });

/** What was told of deliveries: event ids that were answered, codes that were refused. */
function deliveries({ events }: FrontServer): string[] {
  return events.flatMap((event) => {
    if (event.kind === "delivery.answered") return [event.duplicate ? `${event.eventId} again` : event.eventId];
    return event.kind === "delivery.refused" ? [`${event.connection} ${event.code} ${event.cause}`] : [];
  });
}

test("a delivery is answered there after its commit here, its copy is told so, and a forged one is told here once", async () => {
  const server = await frontServer({ limits: patience });
  const { app, database } = server;
  const port = await server.listen();
  const lock = await database.lock();
  const answered: string[] = [];
  const answering = told(port, hook(signedEvent("evt-1"))).then((line) => answered.push(line));
  expect(await told(port, forged("evt-2"))).toBe(refused);
  // Answers that come from here, and later than the delivery.
  for (let asked = 0; asked < 5; asked += 1) expect(await told(port, live)).toBe('200 {"ok":true}');
  expect(answered).toEqual([]);
  await lock[Symbol.asyncDispose]();
  await answering;
  expect([answered, await kept(database)]).toEqual([[applied("evt-1")], { receipts: ["evt-1"], applied: ["evt-1"] }]);
  const copy = '200 {"outcome":"duplicate","first":"applied","event":"evt-1"}';
  expect(await told(port, hook(signedEvent("evt-1")))).toBe(copy);
  await app.stop();
  expect(deliveries(server)).toEqual(["sender SIGNATURE_REFUSED signature_mismatch", "evt-1", "evt-1 again"]);
  await app.open();
  expect(await app.operator({ who: "test" }).refusals()).toEqual([
    expect.objectContaining({ connection: "sender", cause: "signature_mismatch" }),
  ]);
});

test("a connection that a function finds is found in both threads, and only the engine's looks whose it has been", async () => {
  const server = await frontServer();
  const port = await server.listen();
  expect(await told(port, hook(signedEvent("evt-1"), "shops/acme"))).toBe(applied("evt-1"));
  expect(await kept(server.database)).toEqual({ receipts: ["evt-1"], applied: ["evt-1"] });
});

test("what was refused last is heard before a stop is over, although nothing was heard meanwhile", async () => {
  const server = await frontServer();
  const port = await server.listen();
  const connections = [await openRaw(port), await openRaw(port)];
  /** The other thread has its time, this one hears nothing. */
  const pause = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
  const sent = connections.map((connection, n) => {
    const sending = connection.send(requestBytes(forged(`evt-${n}`)));
    pause();
    return sending;
  });
  const stopping = server.app.stop();
  pause();
  await Promise.all([...sent, stopping]);
  expect(deliveries(server)).toEqual(connections.map(() => "sender SIGNATURE_REFUSED signature_mismatch"));
  await server.app.open();
  expect(await server.app.operator({ who: "test" }).refusals()).toHaveLength(2);
});

test("requests on one connection are answered in their order, whoever answers them", async () => {
  const { listen } = await frontServer({ limits: patience });
  await using connection = await openRaw(await listen());
  const requests = Array.from({ length: 12 }, (_, n) => [
    hook(signedEvent(`evt-${n}`)),
    forged(`no-${n}`),
    live,
  ]).flat();
  await connection.send(Buffer.concat(requests.map(requestBytes)));
  const answers: string[] = [];
  for (const _ of requests) {
    const { status, body } = await connection.read();
    answers.push(`${status} ${body.toString()}`);
  }
  expect(answers).toEqual(
    Array.from({ length: 12 }, (_, n) => [applied(`evt-${n}`), refused, '200 {"ok":true}']).flat(),
  );
});

test("each of many at once is told of its own event, on two ports of one application", async () => {
  const server = await frontServer({ limits: patience });
  const ports = [await server.listen(), await server.listen()];
  const ids = Array.from({ length: 80 }, (_, n) => `evt-${n}`);
  const answers = await Promise.all(ids.map((id, n) => told(ports[n % 2]!, hook(signedEvent(id)))));
  expect(answers).toEqual(ids.map(applied));
  expect(deliveries(server).sort()).toEqual(ids.sort());
});

test("a sender that goes away leaves nothing of half a body, the whole of a whole one, and its place to others", async () => {
  const server = await frontServer({ limits: { ...patience, waitingMax: 3, groupMax: 3 } });
  const { app, database } = server;
  const port = await server.listen();
  const request = (id: string): Buffer => requestBytes(hook(signedEvent(id)));
  const half = await openRaw(port);
  await half.send(request("evt-half").subarray(0, -10));
  half.reset();
  await eventually(() => deliveries(server).includes("sender BODY_INCOMPLETE null"));
  for (const round of [1, 2, 3]) {
    const lock = await database.lock();
    const gone = await Promise.all(
      ["a", "b", "c"].map(async (name) => {
        const connection = await openRaw(port);
        await connection.send(request(`evt-${round}-${name}`));
        return connection;
      }),
    );
    // All places are taken: what came so far is with the engine.
    await eventually(async () => (await told(port, hook(signedEvent("evt-over")))).startsWith("503"));
    for (const connection of gone) connection.reset();
    await lock[Symbol.asyncDispose]();
    await eventually(async () => (await told(port, hook(signedEvent(`evt-${round}-next`)))).startsWith("200"));
  }
  await app.stop();
  const { receipts, applied: events } = await kept(database);
  const ids = [1, 2, 3].flatMap((round) => ["a", "b", "c", "next"].map((name) => `evt-${round}-${name}`));
  expect([receipts, events]).toEqual([ids.sort(), ids.sort()]);
});

test("the bytes that are kept are the bytes that were sent, however they were cut and whoever came beside them", async () => {
  const { app, listen } = await frontServer({ limits: patience });
  const port = await listen();
  const { reader } = app.runtime.store;
  const send = async (body: Uint8Array, cuts: readonly number[]): Promise<RawAnswer> => {
    await using connection = await openRaw(port);
    const { headers } = signedBytes(body);
    const names = [...Object.entries(headers), ["transfer-encoding", "chunked"]] as const;
    await connection.send(requestBytes({ path: "/hooks/sender", headers: names }));
    const at = [0, ...cuts.map((cut) => cut % body.length).sort((a, b) => a - b), body.length];
    const pieces = at.slice(1).map((end, n) => body.subarray(at[n], end));
    // Pieces of the coding itself too, so that a chunk's length and its bytes come apart.
    const coded = chunkedBytes(...pieces);
    for (let from = 0; from < coded.length; from += 30_011) await connection.send(coded.subarray(from, from + 30_011));
    return await connection.read();
  };
  const body = fc.uint8Array({ minLength: 1, maxLength: 60_000, size: "max" });
  const cuts = fc.array(fc.nat(), { maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(body, cuts), { minLength: 1, maxLength: 6 }), async (sent) => {
      const answers = await Promise.all(sent.map(([bytes, at]) => send(bytes, at)));
      const receipts = await reader.receipts({}, { limit: 1_000 });
      for (const [n, answer] of answers.entries()) {
        const { event } = JSON.parse(answer.body.toString()) as { readonly event: string };
        const { id } = receipts.find(({ eventId }) => eventId === event)!;
        expect(Buffer.from((await reader.payload(id))!.bytes)).toEqual(Buffer.from(sent[n]![0]));
      }
    }),
    { numRuns: 12 },
  );
});

test("an identity header that came twice is as unusable as without the thread", async () => {
  const { app, listen } = await frontServer();
  const delivery = signDelivery(careless.rules, caseSecret, {
    body: Buffer.from('{"type":"changed","data":{}}'),
    timestampMs: 0,
    headers: { "x-id": "evt-1" },
  });
  const ports = [await listen(), (await app.listen({ port: 0 })).port];
  const once = hook(delivery, "careless");
  const twice = { ...once, headers: [...once.headers!, ["X-Id", "evt-1"] as const] };
  for (const port of ports) expect(await told(port, twice)).toBe('400 {"error":"NO_EVENT_ID"}');
  expect(await told(ports[0]!, once)).toBe(applied("evt-1"));
});

test("what was stopped listens again, in a new thread", async () => {
  const server = await frontServer({ fault: "lingers" });
  for (const round of [1, 2]) {
    await server.app.start();
    const port = await server.listen();
    expect(await told(port, hook(signedEvent(`evt-${round}`)))).toBe(applied(`evt-${round}`));
    // Although the configuration has left a timer behind in that thread.
    await Promise.all([server.app.stop(), server.app.stop()]);
    await expect(told(port, live)).rejects.toMatchObject({ code: "ECONNREFUSED" });
  }
});

test("a stop while deliveries wait for their commit answers them first, also when the port was being closed already", async () => {
  const server = await frontServer({ limits: { ...patience, waitingMax: 10, groupMax: 10 } });
  const listening = await server.app.listen({ port: 0, thread: configuration });
  const { port } = listening;
  const lock = await server.database.lock();
  const ids = Array.from({ length: 10 }, (_, n) => `evt-${n}`);
  const connections = await Promise.all(ids.map(() => openRaw(port)));
  for (const [n, id] of ids.entries()) await connections[n]!.send(requestBytes(hook(signedEvent(id))));
  await eventually(async () => (await told(port, hook(signedEvent("evt-over")))).startsWith("503"));
  const stopping = Promise.all([listening.close(60_000), server.app.stop()]);
  await eventually(() =>
    told(port, live).then(
      () => false,
      () => true,
    ),
  );
  await lock[Symbol.asyncDispose]();
  for (const [n, id] of ids.entries()) {
    const { status, headers, body } = await connections[n]!.read();
    expect(`${status} ${body.toString()}`).toBe(applied(id));
    expect(headers).toContainEqual(["connection", "close"]);
  }
  await stopping;
  expect((await kept(server.database)).applied).toEqual(ids);
});

test("a port that is taken is told as without the thread", async () => {
  const { app } = await frontServer();
  const other = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void other.close());
  await eventually(() => other.listening);
  const { port } = other.address() as AddressInfo;
  for (const options of [{ port }, { port, thread: configuration }]) {
    await expect(app.listen(options)).rejects.toMatchObject({ code: "EADDRINUSE", syscall: "listen" });
  }
});

const advice =
  /^Cannot load the configuration in the HTTP thread: .*; it is loaded there once more: .*--no-http-thread/s;

test.each([
  ["throws", /Error at counterfoil.config.ts:\d+: the port of the metrics is taken/],
  ["throws later", /nobody catches this/],
  ["exits", /it ended the thread/],
  ["fails a system call", /no such file: key.pem/],
  ["listens itself", /the module that `thread` names listens itself when it is loaded/],
])("a configuration that %s in the thread cannot be listened with", async (fault, message) => {
  const { app, listen } = await frontServer({ fault });
  const alive = () => process.getActiveResourcesInfo().filter((kind) => kind === "MessagePort").length;
  const before = alive();
  const listening = listen();
  void listening.catch(() => undefined);
  await eventually(() => alive() > before);
  await expect(listening).rejects.toMatchObject({ code: "CONFIG_INVALID", message: expect.stringMatching(advice) });
  await expect(listening).rejects.toThrow(message);
  expect(alive()).toBe(before);
  // The application is none the worse for it.
  const { port } = await app.listen({ port: 0 });
  expect((await rawExchange(port, hook(signedEvent("evt-1")))).status).toBe(200);
});

test("a thread that has no secrets can be asked for health and nothing else", async () => {
  const { app, listen } = await frontServer();
  vi.stubEnv("FRONT_SECRET", "");
  await expect(listen()).rejects.toMatchObject({ code: "CONFIG_INVALID", message: expect.stringMatching(/blank/) });
  const { port } = await app.listen({ port: 0, serves: "health", thread: configuration });
  expect(await told(port, live)).toBe('200 {"ok":true}');
});

test("a connection that only the thread knows of is refused here, and told of once", async () => {
  const server = await frontServer({ fault: "has one more connection" });
  const port = await server.listen();
  expect(await told(port, hook(signedEvent("evt-1"), "one-more"))).toBe('404 {"error":"UNKNOWN_CONNECTION"}');
  expect(await told(port, hook(signedEvent("evt-1")))).toBe(applied("evt-1"));
  await server.app.stop();
  expect(deliveries(server)).toEqual(["one-more UNKNOWN_CONNECTION null", "evt-1"]);
});
