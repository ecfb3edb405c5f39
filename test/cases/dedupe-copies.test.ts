/** Copies of one event at the same time: one is the first, and the others are told so. */
import { startFakeProvider } from "counterfoil/testing";
import { expect, test } from "vitest";
import { eventually } from "../../src/testing/eventually.ts";
import { startProcess } from "../../src/testing/processes.ts";
import { startHooks } from "../support/hooks-server.ts";
import { openApp, orderApp, payment, placeOrders, rows, temporaryDatabase } from "../support/order-app.ts";

test("fifty copies over four processes, round after round, leave one receipt, one move and one obligation", async () => {
  await using stack = new AsyncDisposableStack();
  const { address } = stack.use(await temporaryDatabase());
  const { app } = stack.use(await openApp(orderApp(address)));
  const orders = Array.from({ length: 6 }, (_, round) => `order-${round}`);
  await placeOrders(app, ...orders);
  const file = new URL("../children/receive.ts", import.meta.url);
  const children = Array.from({ length: 4 }, () => stack.use(startProcess(file, { arguments: [address] })));
  for (const order of orders) {
    const counts = [13, 13, 12, 12].map((count, n) => children[n]!.ask("copies", { order, count }));
    const told: Record<string, number> = {};
    for (const answer of (await Promise.all(counts)) as Record<string, number>[]) {
      for (const [name, count] of Object.entries(answer)) told[name] = (told[name] ?? 0) + count;
    }
    expect(told).toEqual({ applied: 1, "duplicate of applied": 49 });
  }
  const { receipts, obligations, deliveries } = await app.operator({ who: "test" }).status();
  expect({ receipts, obligations, deliveries }).toEqual({
    receipts: { applied: 6 },
    obligations: { owed: 6 },
    deliveries: 300,
  });
  expect(await rows(app, "SELECT count(*) AS n FROM orders WHERE status = 'paid'")).toMatchObject([{ n: 6 }]);
});

test("fifty copies over HTTP at once are one event and forty-nine duplicates, all acknowledged", async () => {
  await using hooks = await startHooks();
  const answers = await Promise.all(Array.from({ length: 50 }, () => hooks.post(payment("evt-1"))));
  const told = answers.map(
    ({ status, body }) => `${status} ${(JSON.parse(body.toString()) as { outcome: string }).outcome}`,
  );
  expect(told.toSorted()).toEqual(["200 applied", ...Array<string>(49).fill("200 duplicate")]);
  expect((await hooks.app.operator({ who: "test" }).status()).obligations).toEqual({ owed: 1 });
});

test("copies that come while the effect is under way are acknowledged without waiting for it, and cause no second one", async () => {
  await using carrier = await startFakeProvider();
  await using hooks = await startHooks({ carrier: carrier.url, limits: { pollMs: 50 } });
  carrier.failNext({ when: "before", kind: "hold" });
  await hooks.app.start({ roles: ["worker"] });
  expect((await hooks.post(payment("evt-1"))).status).toBe(200);
  await eventually(() => carrier.counts().requests === 1);
  // The carrier has not answered yet, and does not until every copy is acknowledged.
  for (let copy = 0; copy < 10; copy += 1) {
    const { status, body } = await hooks.post(payment("evt-1"));
    expect([status, body.toString()]).toEqual([200, expect.stringContaining('"duplicate"')]);
  }
  expect((await hooks.app.operator({ who: "test" }).status()).obligations).toEqual({ sending: 1 });
  carrier.release();
  await eventually(async () => (await hooks.app.operator({ who: "test" }).status()).obligations.done === 1);
  expect(carrier.counts()).toMatchObject({ requests: 1, effects: 1 });
});
