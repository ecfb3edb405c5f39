/** What each kind of end does to an obligation, over real HTTP. */
import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { Operation } from "../../src/domain/effect.ts";
import { eventually } from "../../src/testing/eventually.ts";
import { transact } from "../../src/work/transact.ts";
import { ours } from "../support/engine.ts";
import { openOffice, type Order, type ShipOptions } from "./office.ts";

test("an owed effect is sent once, with its key and its credentials, and is done", async () => {
  await using office = await openOffice();
  const ship = office.effect({ headers: () => ({ authorization: "Bearer t0ken" }) });
  const desk = await office.desk({ effects: [ship] });
  await desk.owe("order-1");
  await desk.work();
  const { obligation, attempts, answer, lease } = await desk.see("order-1");
  expect(obligation).toMatchObject({ state: "done", reached: "yes", dueAt: null, reason: null });
  expect(attempts).toMatchObject([{ kind: "send", verdict: "done", status: 201, phase: "complete" }]);
  expect(new TextDecoder().decode(answer?.body)).toContain('"id"');
  expect(lease).toBeNull();
  expect(office.provider.requests).toMatchObject([
    { body: '{"order":"order-1","ref":"acme/order-1/fulfil/v1"}', headers: { authorization: "Bearer t0ken" } },
  ]);
  expect(office.provider.requests[0]?.key).toMatch(/^cf-[0-9a-f]{64}$/);
  expect(office.provider.counts()).toMatchObject({ requests: 1, effects: 1 });
});

test("headers are asked for each call, with its operation, and may take their time", async () => {
  await using office = await openOffice();
  const asked: Operation<Order>[] = [];
  const ship = office.effect({
    idempotency: "none",
    lookup: office.lookup,
    headers: async (operation) => {
      asked.push(operation);
      await setImmediate();
      return { authorization: `Bearer ${operation.tenant} ${asked.length}` };
    },
  });
  const desk = await office.desk({ effects: [ship] });
  office.provider.failNext({ when: "after", kind: "reset" });
  await desk.owe("order-1");
  await desk.work();
  office.clock.advance(10_000);
  await desk.work();
  expect((await desk.see("order-1")).obligation.state).toBe("done");
  expect(office.provider.requests.map(({ headers }) => headers["authorization"])).toEqual([
    "Bearer acme 1",
    "Bearer acme 2",
  ]);
  const operation = { key: "acme/order-1/fulfil/v1", tenant: "acme", input: { order: "order-1" } };
  expect(asked).toEqual([1, 2].map(() => ({ ...operation, wireKey: expect.stringMatching(/^cf-/) as string })));
});

test("a request is built without the idempotency key, which would be frozen with it and go stale", async () => {
  await using office = await openOffice();
  const seen: object[] = [];
  const request: NonNullable<ShipOptions["request"]> = (operation) => {
    seen.push(operation);
    return { method: "POST", url: `${office.provider.url}/v1/shipments`, json: {} };
  };
  const desk = await office.desk({ effects: [office.effect({ request })] });
  await desk.owe("order-1");
  expect(seen).toEqual([{ key: "acme/order-1/fulfil/v1", tenant: "acme", input: { order: "order-1" } }]);
});

describe("the provider answers", () => {
  test.each([
    [429, { state: "owed", reached: "no" }],
    [503, { state: "owed", reached: "maybe" }],
    [409, { state: "owed", reached: "maybe" }],
    [422, { state: "stuck", reached: "no", reason: "status 422" }],
    [404, { state: "stuck", reached: "no", reason: "status 404" }],
    [302, { state: "stuck", reached: "maybe", reason: "status 302" }],
  ])("%d, once", async (status, expected) => {
    await using office = await openOffice();
    const desk = await office.desk();
    office.provider.failNext({
      when: "before",
      kind: "answer",
      status,
      headers: { location: `${office.provider.url}/v1/shipments` },
    });
    await desk.owe("order-1");
    await desk.work();
    const { obligation, attempts } = await desk.see("order-1");
    expect(obligation).toMatchObject(expected);
    expect(attempts).toMatchObject([{ status }]);
    expect(office.provider.counts()).toMatchObject({ requests: 1, effects: 0 });
    if (expected.state !== "owed") return;
    office.clock.advance(2_000);
    await desk.work();
    expect(await desk.state("order-1")).toBe("done");
    const [first, second] = office.provider.requests;
    expect(second).toMatchObject({ key: first?.key, body: first?.body });
    expect(office.provider.counts()).toMatchObject({ requests: 2, effects: 1 });
  });

  test.each([
    [422, 8, { status: 422, text: '{"why":"', truncated: true }],
    [403, 99, { status: 403, text: '{"why":"no such street"}', truncated: false }],
    [503, 99, null],
  ])("%d: what a refusal says is kept for the operator, %d bytes at most", async (status, answerBytes, expected) => {
    await using office = await openOffice();
    const desk = await office.desk({ limits: { answerBytes } });
    office.provider.failNext({ when: "before", kind: "answer", status, body: '{"why":"no such street"}' });
    await desk.owe("order-1");
    await desk.work();
    const { refusal, answer } = await desk.see("order-1");
    expect(answer).toBeNull();
    const { body, ...rest } = refusal ?? {};
    expect(refusal && { ...rest, text: new TextDecoder().decode(body) }).toEqual(expected);
    expect(JSON.stringify(desk.events)).not.toContain("why");
  });

  test("Retry-After: it is left alone for that long, with everything else for that destination", async () => {
    await using office = await openOffice();
    const desk = await office.desk({ limits: { callsPerDestination: 1 } });
    office.provider.failNext({ when: "before", kind: "answer", status: 429, headers: { "retry-after": "120" } });
    await desk.owe("order-1");
    await desk.owe("order-2");
    await desk.work();
    expect(await desk.state("order-2")).toBe("owed");
    office.clock.advance(119_000);
    await desk.work();
    expect(office.provider.counts().requests).toBe(1);
    office.clock.advance(1_001);
    await desk.work();
    expect([await desk.state("order-1"), await desk.state("order-2")]).toEqual(["done", "done"]);
  });

  test.each([401, 403])("%d: the destination pauses until an operator resumes it", async (status) => {
    await using office = await openOffice();
    const desk = await office.desk({ limits: { callsPerDestination: 1 } });
    office.provider.failNext({ when: "before", kind: "answer", status });
    await desk.owe("order-1");
    await desk.owe("order-2");
    await desk.work();
    office.clock.advance(3_600_000);
    await desk.work();
    expect((await desk.see("order-1")).obligation).toMatchObject({
      state: "owed",
      reached: "no",
      reason: `status ${status}`,
    });
    expect(await desk.state("order-2")).toBe("owed");
    expect(office.provider.counts().requests).toBe(1);
    const { url } = office.provider;
    expect(desk.events).toContainEqual({ kind: "destination.paused", destination: url, reason: `status ${status}` });
    await transact(desk.runtime, (tx) => tx.pauseDestination(url, null));
    await desk.work();
    expect([await desk.state("order-1"), await desk.state("order-2")]).toEqual(["done", "done"]);
  });

  test("that the key was used for another request: stuck, never a loop", async () => {
    await using office = await openOffice();
    const ship = office.effect({ keyReused: { status: 422, path: ["error", "code"], equals: "key_reused" } });
    const desk = await office.desk({ effects: [ship] });
    office.provider.failNext({ when: "before", kind: "answer", status: 422, body: '{"error":{"code":"key_reused"}}' });
    await desk.owe("order-1");
    await desk.work();
    const { obligation, attempts } = await desk.see("order-1");
    expect(obligation).toMatchObject({ state: "stuck", reached: "maybe", dueAt: null });
    expect(attempts).toMatchObject([{ verdict: "key_reused" }]);
  });

  test("an error that it stored under the key: stuck, since the key can only bring it again", async () => {
    await using office = await openOffice();
    const ship = office.effect({ replayed: { header: "Idempotent-Replayed", equals: "true" } });
    const desk = await office.desk({ effects: [ship] });
    office.provider.failNext({ when: "before", kind: "answer", status: 500, kept: true });
    await desk.owe("order-1");
    await desk.work();
    office.clock.advance(2_000);
    await desk.work();
    const { obligation, attempts } = await desk.see("order-1");
    expect(obligation).toMatchObject({ state: "stuck", reason: "status 500, stored under this key and given again" });
    expect(attempts.map(({ verdict, cause }) => [verdict, cause])).toEqual([
      ["again", null],
      ["permanent", "replayed"],
    ]);
  });

  test("success in a shape that does not fit: done, with the reason shown, never sent again", async () => {
    await using office = await openOffice();
    const desk = await office.desk();
    office.provider.failNext({ when: "after", kind: "answer", status: 200, body: '{"number":7}' });
    await desk.owe("order-1");
    await desk.work();
    expect((await desk.see("order-1")).obligation).toMatchObject({
      state: "done",
      reason: 'the answer does not fit at "id"',
    });
    expect(office.provider.counts()).toMatchObject({ requests: 1, effects: 1 });
  });
});

describe("a request that cannot be sent", () => {
  async function tried(options: ShipOptions): Promise<{
    readonly seen: Awaited<ReturnType<Awaited<ReturnType<Awaited<ReturnType<typeof openOffice>>["desk"]>>["see"]>>;
    readonly requests: number;
  }> {
    await using office = await openOffice();
    const desk = await office.desk({ effects: [office.effect(options)] });
    await desk.owe("order-1");
    await desk.work();
    return { seen: await desk.see("order-1"), requests: office.provider.counts().requests };
  }

  test.each<[string, Readonly<Record<string, string>>]>([
    ["the key's header in another case", { "IDEMPOTENCY-key": "mine" }],
    ["the key's header as CGI reads it", { idempotency_key: "mine" }],
    ["a header that frames the message", { "Transfer-Encoding": "chunked" }],
    ["Host", { host: "internal.example" }],
    ["a line break", { "x-trace": "a\r\nidempotency-key: mine" }],
    ["a name with a space", { "idempotency-key ": "mine" }],
  ])("since its own headers carry %s is stuck, unsent", async (_, headers) => {
    const { seen, requests } = await tried({ headers: () => headers });
    expect(seen.obligation).toMatchObject({ state: "stuck", reached: "no" });
    expect(seen.attempts).toMatchObject([{ verdict: "permanent", cause: "unsendable" }]);
    expect(requests).toBe(0);
  });

  test.each<[string, () => unknown, string]>([
    ["nothing", () => undefined, "are undefined"],
    ["a Headers", () => new Headers({ authorization: "s3cret" }), "an object with a class"],
    ["a Map", () => Promise.resolve(new Map([["authorization", "s3cret"]])), "an object with a class"],
    ["pairs", () => [["authorization", "s3cret"]], "an array"],
    ["a function", () => () => ({ authorization: "s3cret" }), "a function"],
    ["a token that is not set", () => ({ authorization: undefined }), "header authorization is undefined"],
    ["a promise in a field", () => ({ authorization: Promise.resolve("s3cret") }), "header authorization is object"],
    ["a rejection", () => Promise.reject(new Error("s3cret")), "failed with Error"],
  ])("since its headers are %s is tried again, and never goes out without them", async (_, headers, words) => {
    const { seen, requests } = await tried({ headers: headers as NonNullable<ShipOptions["headers"]> });
    expect(seen.obligation).toMatchObject({ state: "owed", reached: "no", tries: 1, keySince: null });
    expect(seen.obligation.reason).toContain(words);
    expect(seen.attempts).toMatchObject([{ verdict: "not_sent", cause: "headers" }]);
    expect(JSON.stringify(seen)).not.toContain("s3cret");
    expect(requests).toBe(0);
  });

  test("since its headers take longer than a call may is tried again", async () => {
    await using office = await openOffice();
    let asked = 0;
    const headers = (): Promise<never> => {
      asked += 1;
      return new Promise(() => undefined);
    };
    const desk = await office.desk({ effects: [office.effect({ headers })] });
    await desk.owe("order-1");
    const working = desk.work();
    await eventually(() => asked === 1);
    office.clock.advance(30_000);
    await working;
    expect((await desk.see("order-1")).obligation).toMatchObject({ state: "owed", reached: "no", tries: 1 });
    expect(office.provider.counts().requests).toBe(0);
  });

  test("since its headers were awaited when the worker stopped goes back unharmed", async () => {
    await using office = await openOffice();
    let asked = 0;
    const headers = (): Promise<never> => {
      asked += 1;
      return new Promise(() => undefined);
    };
    const desk = await office.desk({ effects: [office.effect({ headers })] });
    await desk.owe("order-1");
    desk.worker.start();
    await eventually(() => asked === 1);
    await desk.worker.stop({ graceMs: 0 });
    const { obligation, attempts } = await desk.see("order-1");
    expect(obligation).toMatchObject({ state: "owed", reached: "no", tries: 0 });
    expect(attempts).toMatchObject([{ verdict: "released", cause: "aborted" }]);
  });

  test("since its headers function throws is tried again, and its message is not kept", async () => {
    const { seen, requests } = await tried({
      headers: () => {
        throw new Error("s3cret");
      },
    });
    expect(seen.obligation).toMatchObject({ state: "owed", reached: "no", tries: 1 });
    expect(JSON.stringify(seen)).not.toContain("s3cret");
    expect(requests).toBe(0);
  });

  test("since its destination is not public is stuck, unsent", async () => {
    const { seen, requests } = await tried({ allow: [] });
    expect(seen.obligation).toMatchObject({ state: "stuck", reached: "no" });
    expect(seen.attempts).toMatchObject([{ verdict: "permanent", cause: "blocked" }]);
    expect(requests).toBe(0);
  });

  test("since nobody listens is owed again, and nothing counts as reached", async () => {
    const { seen } = await tried({
      request: () => ({ method: "POST", url: "http://127.0.0.1:9/v1", json: {} }),
      allow: ["http://127.0.0.1:9"],
    });
    expect(seen.obligation).toMatchObject({ state: "owed", reached: "no", keySince: null, tries: 1 });
    expect(seen.attempts).toMatchObject([{ verdict: "not_sent", cause: "refused", phase: "connect" }]);
  });

  test("since it is not the one that was owed is stuck, unsent", async () => {
    await using office = await openOffice();
    const desk = await office.desk();
    await desk.owe("order-1");
    const altered = Buffer.from('{"order":"order-2"}');
    await transact(desk.runtime, (tx) => tx.run(`UPDATE ${ours("requests")} SET body = ?`, [altered]));
    await desk.work();
    const { obligation, attempts } = await desk.see("order-1");
    expect(obligation).toMatchObject({ state: "stuck", reached: "no" });
    expect(attempts).toMatchObject([{ verdict: "permanent", cause: "altered" }]);
    expect(office.provider.counts().requests).toBe(0);
  });
});

describe("a key in the body", () => {
  test("is added to the frozen bytes, the same every time", async () => {
    await using office = await openOffice();
    const desk = await office.desk({
      effects: [office.effect({ idempotency: { field: "dedupe", keyLifetime: "24h" } })],
    });
    office.provider.failNext({ when: "before", kind: "answer", status: 503 });
    await desk.owe("order-1");
    await desk.work();
    office.clock.advance(2_000);
    await desk.work();
    const [first, second] = office.provider.requests;
    expect(first?.body).toMatch(/^\{"order":"order-1","ref":"acme\/order-1\/fulfil\/v1","dedupe":"cf-[0-9a-f]{64}"\}$/);
    expect(second?.body).toBe(first?.body);
  });

  test.each([
    ["an empty object takes it alone", {}, /^\{"dedupe":"cf-[0-9a-f]{64}"\}$/],
    ["an array cannot take it", [], null],
    ["a body that has the field cannot take it", { dedupe: "mine" }, null],
  ])("%s", async (_, json, body) => {
    await using office = await openOffice();
    const ship = office.effect({
      idempotency: { field: "dedupe", keyLifetime: "24h" },
      request: () => ({ method: "POST", url: `${office.provider.url}/v1/shipments`, json }),
    });
    const desk = await office.desk({ effects: [ship] });
    await desk.owe("order-1");
    await desk.work();
    if (body) expect(office.provider.requests[0]?.body).toMatch(body);
    else expect((await desk.see("order-1")).attempts).toMatchObject([{ verdict: "permanent", cause: "unsendable" }]);
  });
});

describe("a key in the query", () => {
  async function urlsOf(url: string): Promise<readonly string[] | string | undefined> {
    await using office = await openOffice();
    const ship = office.effect({
      idempotency: { query: "requestid", keyLifetime: "1h", lengthMax: 50 },
      request: () => ({ method: "POST", url: `${office.provider.url}${url}`, json: {} }),
    });
    const desk = await office.desk({ effects: [ship] });
    office.provider.failNext({ when: "before", kind: "answer", status: 503 });
    await desk.owe("order-1");
    await desk.work();
    office.clock.advance(2_000);
    await desk.work();
    const { attempts } = await desk.see("order-1");
    return attempts[0]?.cause === "unsendable" ? "unsendable" : office.provider.requests.map((each) => each.url);
  }

  test.each([
    ["/v1/shipments", "/v1/shipments?"],
    ["/v1/shipments?minor=70&name=a%20b", "/v1/shipments?minor=70&name=a%20b&"],
  ])("is added to %s as its last parameter, the same every time", async (url, start) => {
    const [first, second] = (await urlsOf(url)) ?? [];
    expect(first?.slice(0, start.length)).toBe(start);
    expect(first?.slice(start.length)).toMatch(/^requestid=cf-[0-9a-f]{47}$/);
    expect(second).toBe(first);
  });

  test("does not go where that parameter stands already", async () => {
    expect(await urlsOf("/v1/shipments?requestid=mine")).toBe("unsendable");
  });
});

test("a key of a form that the provider asks for is the same for every attempt", async () => {
  await using office = await openOffice();
  const idempotency = { header: "X-Line-Retry-Key", form: "uuid", keyLifetime: "24h" } as const;
  const desk = await office.desk({ effects: [office.effect({ idempotency })] });
  office.provider.failNext({ when: "before", kind: "answer", status: 503 });
  await desk.owe("order-1");
  await desk.work();
  office.clock.advance(2_000);
  await desk.work();
  const [first, second] = office.provider.requests.map(({ headers }) => headers["x-line-retry-key"]);
  expect(first).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(second).toBe(first);
});
