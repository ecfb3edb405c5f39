/** What is owed and what was committed are one: whatever undoes the one undoes the other. */
import { type App, connect, defineApp, effect, type TelemetryEvent, type } from "counterfoil";
import { stripe } from "counterfoil/providers";
import { expect, onTestFinished, test } from "vitest";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { dialect } from "../support/dialect.ts";
import { storeAt } from "../support/engine.ts";
import { payment, rows, secret } from "../support/order-app.ts";
import { ownDatabase } from "../support/own-database.ts";
import { deliver } from "./deliver.ts";

/** How a handler ends after it has moved its order and owed the shipment. */
const endings = ["kept", "throws", "refuses", "trips a trigger", "breaks the commit"] as const;
type Ending = (typeof endings)[number];

interface Shop {
  readonly app: App;
  readonly clock: VirtualClock;
  readonly events: TelemetryEvent[];
  /** Whether handlers still end as their events say. */
  failing: boolean;
}

async function openShop(): Promise<Shop> {
  const database = await ownDatabase();
  const clock = new VirtualClock({ wallMs: Date.now() });
  const events: TelemetryEvent[] = [];
  const ship = effect("ship/v1", {
    input: type<{ order: string }>(),
    request: ({ input }) => ({ method: "POST", url: "https://carrier.example/v1/shipments", json: input }),
    idempotency: "none",
  });
  const paid = stripe.on("payment_intent.succeeded", async ({ event, tx, owe, refuse }) => {
    const { order = "", ending = "kept" } = event.data.object.metadata;
    await tx.sql`UPDATE orders SET status = 'paid' WHERE id = ${order}`;
    await owe(ship, { key: [order, "fulfil", "v1"], input: { order } });
    if (!shop.failing) return;
    if (ending === "throws") throw new Error("after all is written");
    if (ending === "refuses") return refuse("on second thoughts");
    // The first ends the whole transaction from within, where an engine lets it; the second makes its COMMIT fail.
    if (ending === "trips a trigger") await tx.sql`UPDATE orders SET status = 'tripped' WHERE id = ${order}`;
    if (ending === "breaks the commit") await tx.sql`INSERT INTO lines (order_id) VALUES ('nobody')`;
  });
  const app = defineApp({
    store: storeAt(database.address, { clock }),
    connections: [connect("stripe", { provider: stripe, secrets: [secret], tenant: "tenant-a", handlers: [paid] })],
    effects: [ship],
    telemetry: [(event) => void events.push(event)],
    testing: { clock },
  });
  const shop: Shop = { app, clock, events, failing: true };
  onTestFinished(() => app.stop());
  await app.transaction({ tenant: "tenant-a" }, async ({ tx }) => {
    await tx.sql`CREATE TABLE orders (id TEXT PRIMARY KEY, status TEXT NOT NULL)`;
    await tx.sql`CREATE TABLE lines (order_id TEXT REFERENCES orders (id) DEFERRABLE INITIALLY DEFERRED)`;
  });
  const tripping = { table: "orders", before: "UPDATE", when: "NEW.status = 'tripped'", ends: "transaction" } as const;
  for (const statement of dialect.raising(tripping)) await rows(app, statement);
  return shop;
}

/** Orders that were paid, orders that are owed a shipment, and orders whose event was applied. */
async function books({ app }: Shop): Promise<readonly (readonly string[])[]> {
  const { reader } = app.runtime.store;
  const paid = await rows<{ id: string }>(app, "SELECT id FROM orders WHERE status = 'paid'");
  const owed = await reader.obligations({}, { limit: 500 });
  const applied = await reader.receipts({ outcome: "applied" }, { limit: 500 });
  return [
    paid.map(({ id }) => id).toSorted(),
    owed.map(({ operationKey }) => operationKey.split("/")[0] ?? "").toSorted(),
    applied.map(({ eventId }) => eventId.replace("evt-", "")).toSorted(),
  ];
}

test("of sixty deliveries at once, whatever becomes of each, exactly what was committed is owed", async () => {
  const shop = await openShop();
  const { app, clock, events } = shop;
  // Neighbours in a group end in different ways; the multiplier visits every order of endings.
  const orders = Array.from({ length: 60 }, (_, n): readonly [string, Ending] => {
    return [`order-${n}`, endings[(n * 7 + Math.floor(n / 5)) % endings.length] ?? "kept"];
  });
  await app.transaction({ tenant: "tenant-a" }, async ({ tx }) => {
    for (const [id] of orders) await tx.sql`INSERT INTO orders VALUES (${id}, 'awaiting_payment')`;
  });
  const statuses = await Promise.all(
    orders.map(async ([order, ending]) => (await deliver(app, payment(`evt-${order}`, order, { ending }))).status),
  );
  const ended = (...which: readonly Ending[]): string[] =>
    orders
      .filter(([, ending]) => which.includes(ending))
      .map(([order]) => order)
      .toSorted();
  expect(await books(shop)).toEqual([ended("kept"), ended("kept"), ended("kept")]);
  expect(statuses).toEqual(orders.map(([, ending]) => (ending === "kept" || ending === "refuses" ? 200 : 202)));
  expect(events.map(({ kind }) => kind)).toContain("group.split");

  shop.failing = false;
  clock.advance(3_600_000);
  await app.drain();
  const mended = ended("kept", "throws", "trips a trigger", "breaks the commit");
  expect(await books(shop)).toEqual([mended, mended, mended]);
});
