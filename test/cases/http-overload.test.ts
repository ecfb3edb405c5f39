/** More than can be taken: the excess is told so at once, nothing waits without an end, and all of it arrives in time. */
import { setImmediate } from "node:timers/promises";
import { connect, defaults, defineApp, type Limits, type Store } from "counterfoil";
import { postgres } from "counterfoil/postgres";
import { github, standardWebhooks, stripe } from "counterfoil/providers";
import { sqlite } from "counterfoil/sqlite";
import { expect, test } from "vitest";
import { eventually } from "../../src/testing/eventually.ts";
import { headerValues, type RawAnswer, rawExchange } from "../../src/testing/raw-http.ts";
import { caseSecret, sender, signedEvent, startCase } from "../support/case-server.ts";
import { rawRequest, startHooks } from "../support/hooks-server.ts";
import { payment, placeOrders } from "../support/order-app.ts";

test("deliveries beyond the bound get 503 at once, health goes on, and every event ends with one effect", async () => {
  await using hooks = await startHooks({ limits: { waitingMax: 8, groupMax: 4, lockMs: 30_000 } });
  const orders = Array.from({ length: 60 }, (_, n) => `order-${n + 2}`);
  await placeOrders(hooks.app, ...orders);
  // The store is busy for as long as another process has it.
  const lock = await hooks.database.lock();
  const answers: RawAnswer[] = [];
  const send = async (order: string): Promise<RawAnswer> => {
    const answer = await rawExchange(hooks.port, rawRequest(payment(`evt-${order}`, order), {}));
    answers.push(answer);
    return answer;
  };
  const first = orders.map(send);
  await eventually(() => answers.length === orders.length - 8);
  expect(answers.map((answer) => [answer.status, headerValues(answer, "retry-after"), answer.body.toString()])).toEqual(
    answers.map(() => [503, ["2"], '{"error":"OVERLOADED"}']),
  );
  expect(await rawExchange(hooks.port, { method: "GET", path: "/health/live" })).toMatchObject({ status: 200 });
  await lock[Symbol.asyncDispose]();
  let refused = (await Promise.all(first)).flatMap(({ status }, n) => (status === 503 ? [orders[n]!] : []));
  while (refused.length > 0) {
    const again = await Promise.all(refused.map(send));
    refused = refused.filter((_, n) => again[n]!.status === 503);
  }
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 503]));
  const { receipts, obligations } = await hooks.app.operator({ who: "test" }).status();
  expect({ receipts, obligations }).toEqual({ receipts: { applied: 60 }, obligations: { owed: 60 } });
});

test("a store that stays busy is answered 503 when the wait for it is over, with nothing kept", async () => {
  await using hooks = await startHooks({ limits: { lockMs: 100 } });
  const lock = await hooks.database.lock();
  const answer = await hooks.post(payment("evt-1"));
  expect([answer.status, headerValues(answer, "retry-after"), answer.body.toString()]).toEqual([
    503,
    ["2"],
    '{"error":"STORE_BUSY"}',
  ]);
  expect(await hooks.post(payment("x"), { method: "GET", path: "/health/ready" })).toMatchObject({ status: 503 });
  await lock[Symbol.asyncDispose]();
  expect(await hooks.post(payment("evt-1"))).toMatchObject({ status: 200 });
  expect(await hooks.post(payment("x"), { method: "GET", path: "/health/ready" })).toMatchObject({ status: 200 });
});

/** An application that is fetched from, with two connections of one sender and little room for bodies. */
async function crowded(limits: Partial<Limits> = {}) {
  const handlers = [sender.on("changed", () => undefined)];
  const common = { provider: sender, secrets: [caseSecret], tenant: "acme", handlers } as const;
  const server = await startCase({
    connections: [connect("sender", common), connect("flooded", common)],
    limits: { bodyBytes: 1_000, bodyBytesReading: 4_000, ...limits },
  });
  return {
    ...server,
    fetched: async (
      id: string,
      body: NonNullable<RequestInit["body"]>,
      headers: Readonly<Record<string, string>> = {},
    ): Promise<number> => {
      const { headers: signed } = signedEvent("evt-1");
      const request = { method: "POST", headers: { ...signed, ...headers }, body, duplex: "half" } as const;
      return (await server.app.fetch(new Request(`http://localhost/hooks/${id}`, request))).status;
    },
  };
}

/** A body that stops after its first bytes, until it is closed. */
function dripping(bytes: number): { readonly body: ReadableStream; readonly close: () => void } {
  let controller: ReadableStreamDefaultController | undefined;
  const body = new ReadableStream({
    start: (own) => {
      controller = own;
      if (bytes > 0) own.enqueue(new Uint8Array(bytes));
    },
  });
  return { body, close: () => controller?.close() };
}

const whole = (): Buffer<ArrayBuffer> => Buffer.from(signedEvent("evt-1").body);

test("senders that drip into one connection turn nobody else away, and have no more than came of them", async () => {
  const { fetched } = await crowded();
  const idle = Array.from({ length: 20 }, () => dripping(0));
  const waiting = idle.map(({ body }) => fetched("flooded", body, { "content-length": "many" }));
  expect(await fetched("flooded", whole(), { "content-length": "1000" })).toBe(200);
  const full = Array.from({ length: 3 }, () => dripping(1_000));
  waiting.push(...full.map(({ body }) => fetched("flooded", body)));
  await eventually(async () => (await fetched("flooded", whole())) === 503);
  expect(await fetched("sender", whole())).toBe(200);
  for (const { close } of [...idle, ...full]) close();
  expect(new Set(await Promise.all(waiting))).toEqual(new Set([401]));
  expect(await fetched("flooded", whole())).toBe(200);
});

test("bodies that wait for their commit still count, until they are answered", async () => {
  const { database, fetched, events } = await crowded({ lockMs: 600_000, queueMs: 600_000, bodyBytes: 1_500 });
  const lock = await database.lock();
  const large = (id: string) => signedEvent(id, { pad: "x".repeat(1_300) });
  const send = (id: string): Promise<number> => {
    const { headers, body } = large(id);
    return fetched("sender", Buffer.from(body), headers);
  };
  const first = [send("evt-a"), send("evt-b")];
  // Whole bodies are read within one turn; these wait for their commit from then on.
  await setImmediate();
  await setImmediate();
  await eventually(async () => (await send("evt-c")) === 503);
  expect(events).toContainEqual({ kind: "delivery.refused", connection: "sender", code: "OVERLOADED", cause: null });
  await lock[Symbol.asyncDispose]();
  expect(await Promise.all(first)).toEqual([200, 200]);
  expect(await send("evt-c")).toBe(200);
});

test("a sender that would give up before it can be answered is found at the start, with the limit to lower", () => {
  const start = (limits: Partial<Limits>, store: Store = sqlite(":memory:")) =>
    defineApp({
      store,
      connections: [stripe, github, standardWebhooks].map((provider) =>
        connect(provider.name, { provider, secrets: [caseSecret], tenant: "acme", handlers: [] }),
      ),
      effects: [],
      limits,
    });
  expect(() => start({})).not.toThrow();
  const { queueMs, groupMs } = defaults;
  expect(() => start({ lockMs: 10_000 - queueMs - groupMs - 1 })).not.toThrow();
  expect(() => start({ lockMs: 10_000 - queueMs - groupMs })).toThrow(
    /"stripe": stripe waits 10000 ms for an answer, which may take 10000 ms .*; lower the limit lockMs$/,
  );
  expect(() => start({ queueMs: 60_000 })).toThrow(/lower the limit queueMs$/);
  // Where handlers may wait, one has to have some time as well.
  const postgresStart = (lockMs: number) => () => start({ lockMs }, postgres("postgres://db.example/shop"));
  expect(postgresStart(10_000 - queueMs - groupMs - 101)).not.toThrow();
  expect(postgresStart(10_000 - queueMs - groupMs - 100)).toThrow(
    /"stripe": stripe waits 10000 ms for an answer, which may take 10000 ms .* \+ 100 for its handler and commit\); lower the limit lockMs$/,
  );
});
