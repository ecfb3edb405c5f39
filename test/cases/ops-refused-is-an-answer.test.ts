import { Metrics } from "counterfoil";
import { expect, test } from "vitest";
import { openApp, orderApp, payment, placeOrders, temporaryDatabase } from "../support/order-app.ts";
import { deliver } from "./deliver.ts";

test("a rule that refuses every event never tells the sender so, and a backfill changes nothing twice", async () => {
  await using stack = new AsyncDisposableStack();
  const { address } = stack.use(await temporaryDatabase());
  const { app } = stack.use(await openApp(orderApp(address)));
  const metrics = new Metrics();
  app.subscribe(metrics.emit);
  await placeOrders(app, "order-1");
  const events = Array.from({ length: 30 }, (_, n) => payment(`evt-${n}`));
  const first = [];
  for (const event of events) first.push(await deliver(app, event));
  expect(first.map(({ status }) => status)).toEqual(Array(30).fill(200));
  expect(first.filter(({ body }) => body["outcome"] === "refused")).toHaveLength(29);
  // What an operator's alarm can watch.
  expect(metrics.render()).toMatch(/counterfoil_deliveries_total\{[^}]*outcome="refused"[^}]*\} 29/);

  const again = await Promise.all(events.map((event) => deliver(app, event)));
  expect(again.map(({ status, body }) => `${status} ${String(body["outcome"])}`)).toEqual(
    Array(30).fill("200 duplicate"),
  );
  expect(await app.operator({ who: "ada" }).status()).toMatchObject({
    receipts: { applied: 1, refused: 29 },
    obligations: { owed: 1 },
    deliveries: 60,
  });
});
