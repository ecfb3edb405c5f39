/** More than can be taken: the excess is told so at once, nothing waits without an end, and all of it arrives in time. */
import { DatabaseSync } from "node:sqlite";
import { connect } from "counterfoil";
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
  using other = new DatabaseSync(hooks.path);
  other.exec("BEGIN IMMEDIATE");
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
  other.exec("ROLLBACK");
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
  using other = new DatabaseSync(hooks.path);
  other.exec("BEGIN IMMEDIATE");
  const answer = await hooks.post(payment("evt-1"));
  expect([answer.status, headerValues(answer, "retry-after"), answer.body.toString()]).toEqual([
    503,
    ["2"],
    '{"error":"STORE_BUSY"}',
  ]);
  expect(await hooks.post(payment("x"), { method: "GET", path: "/health/ready" })).toMatchObject({ status: 503 });
  other.exec("ROLLBACK");
  expect(await hooks.post(payment("evt-1"))).toMatchObject({ status: 200 });
  expect(await hooks.post(payment("x"), { method: "GET", path: "/health/ready" })).toMatchObject({ status: 200 });
});

test("bodies being read are bounded in all, also when a length was announced that is none", async () => {
  const changed = sender.on("changed", () => undefined);
  const server = await startCase({
    connections: [connect("sender", { provider: sender, secrets: [caseSecret], tenant: "acme", handlers: [changed] })],
    limits: { bodyBytes: 1_000, bodyBytesReading: 1_500 },
  });
  const fetched = async (
    body: Buffer<ArrayBuffer> | ReadableStream,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<number> => {
    const { headers: signed } = signedEvent("evt-1");
    const request = { method: "POST", headers: { ...signed, ...headers }, body, duplex: "half" } as const;
    return (await server.app.fetch(new Request("http://localhost/hooks/sender", request))).status;
  };
  const whole = (): Buffer<ArrayBuffer> => Buffer.from(signedEvent("evt-1").body);
  expect(await fetched(whole(), { "content-length": "many" })).toBe(200);
  let close = (): void => undefined;
  const endless = new ReadableStream({ start: (controller) => void (close = () => controller.close()) });
  const reading = fetched(endless);
  expect(await fetched(whole())).toBe(503);
  close();
  expect(await reading).toBe(401);
  expect(await fetched(whole())).toBe(200);
});
