/** A transaction that lost a deadlock or serialization race is run again whole, or refused whole. */
import { CounterfoilError } from "counterfoil";
import { expect, test } from "vitest";
import { defaults } from "../../src/domain/limits.ts";
import { openApp, orderApp, payment, placeOrders, rows, temporaryDatabase } from "../support/order-app.ts";
import { deliver } from "./deliver.ts";

/** An order whose handler loses its first races, as a statement of a database with many writers does. */
async function openRacing(races: number) {
  const stack = new AsyncDisposableStack();
  const { address } = stack.use(await temporaryDatabase());
  let runs = 0;
  const beforeOwe = (): void => {
    runs += 1;
    if (runs <= races) throw new CounterfoilError("RACE_LOST", "Cannot write: another transaction was first");
  };
  const { app } = stack.use(await openApp(orderApp(address, { beforeOwe })));
  await placeOrders(app, "order-1");
  const status = async (): Promise<unknown> => (await rows(app, "SELECT status FROM orders"))[0]?.["status"];
  return { app, status, runs: () => runs, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

test("a lost race runs the whole transaction again from its start, and nothing of it twice", async () => {
  await using shop = await openRacing(2);
  expect(await deliver(shop.app, payment("evt-1"))).toMatchObject({ status: 200, body: { outcome: "applied" } });
  expect(shop.runs()).toBe(3);
  expect(await shop.status()).toBe("paid");
  expect(await shop.app.runtime.store.reader.counts()).toMatchObject({
    receipts: { applied: 1 },
    obligations: { owed: 1 },
  });
});

test("races without end are answered 503, and leave neither receipt, change nor obligation", async () => {
  await using shop = await openRacing(Number.POSITIVE_INFINITY);
  const answer = await deliver(shop.app, payment("evt-1"));
  expect(answer).toMatchObject({ status: 503, body: { error: "STORE_BUSY" } });
  expect(shop.runs()).toBe(defaults.rerunsMax);
  expect(await shop.status()).toBe("awaiting_payment");
  expect(await shop.app.runtime.store.reader.counts()).toMatchObject({ receipts: {}, obligations: {} });
});
