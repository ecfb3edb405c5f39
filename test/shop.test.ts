/** The shop example: what the articles leave to the reader, each on the shop's own handlers. */
import type { App } from "counterfoil";
import { sampleDelivery, stripe } from "counterfoil/providers";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createTables, cancelOrder, placeOrder, replaceShipment } from "../examples/shop/orders.ts";
import { engine, temporaryDatabase } from "./support/engine.ts";

let stack: AsyncDisposableStack;
let app: App;
let secrets: Readonly<Record<"stripe" | "marketplace", string>>;

beforeEach(async () => {
  stack = new AsyncDisposableStack();
  const { address, folder } = stack.use(await temporaryDatabase());
  process.env["SHOP_DATA"] = folder;
  process.env["SHOP_STORE"] = engine === "sqlite" ? "sqlite" : address;
  const { dataFolder } = await import("../examples/shop/data-folder.ts");
  ({ secrets } = dataFolder());
  const { shopApp } = await import("../examples/shop/counterfoil.config.ts");
  app = shopApp();
  stack.defer(() => app.stop());
  await createTables(app);
});
afterEach(() => stack.disposeAsync());

interface Paying {
  readonly event: string;
  readonly order: string;
  readonly amount?: number;
  readonly payment?: string;
  readonly currency?: string;
  readonly account?: string;
}

function pay({ event, order, amount = 1_000, payment = `pi_${event}`, currency = "eur", account }: Paying) {
  const connection = account === undefined ? "stripe" : "marketplace";
  return app.receive(
    connection,
    sampleDelivery(stripe.rules, {
      secret: secrets[connection],
      id: event,
      type: "payment_intent.succeeded",
      timestampMs: Date.now(),
      body: {
        livemode: true,
        ...(account !== undefined && { account }),
        data: { object: { id: payment, amount_received: amount, currency, metadata: { order } } },
      },
    }),
  );
}

function refundOf(event: string, order: string) {
  return app.receive(
    "stripe",
    sampleDelivery(stripe.rules, {
      secret: secrets.stripe,
      id: event,
      type: "charge.refunded",
      timestampMs: Date.now(),
      body: { livemode: true, data: { object: { id: `ch_${event}`, currency: "eur", metadata: { order } } } },
    }),
  );
}

const place = (id: string, tenant = "acme") => placeOrder(app, { tenant, id, total: 1_000, currency: "eur" });

async function statusOf(id: string, tenant = "acme"): Promise<string | undefined> {
  const [order] = await app.transaction(
    { tenant },
    ({ tx }) => tx.sql<{ status: string }>`SELECT status FROM orders WHERE tenant = ${tenant} AND id = ${id}`,
  );
  return order?.status;
}

async function owed(): Promise<readonly string[]> {
  const obligations = await app.operator({ who: "test" }).obligations({}, { limit: 100 });
  return obligations.map(({ tenant, operationKey }) => `${tenant}/${operationKey}`).sort();
}

test("a partial payment owes nothing until the rest has come, and a copy of a part is not the rest", async () => {
  await place("o1");
  expect(await pay({ event: "e1", order: "o1", amount: 400, payment: "p1" })).toMatchObject({ outcome: "applied" });
  await pay({ event: "e1-again", order: "o1", amount: 400, payment: "p1" });
  expect([await statusOf("o1"), await owed()]).toEqual(["awaiting_payment", []]);
  await pay({ event: "e2", order: "o1", amount: 600, payment: "p2" });
  expect([await statusOf("o1"), await owed()]).toEqual(["paid", ["acme/o1/fulfil/v1"]]);
});

test("a replacement shipment is another version, once", async () => {
  await place("o1");
  await pay({ event: "e1", order: "o1" });
  await replaceShipment(app, "acme", "o1");
  await replaceShipment(app, "acme", "o1");
  expect(await owed()).toEqual(["acme/o1/fulfil/v1", "acme/o1/fulfil/v2"]);
});

test("a refund that arrives first leaves nothing to ship", async () => {
  await place("o1");
  expect(await refundOf("e1", "o1")).toMatchObject({ outcome: "applied" });
  expect(await pay({ event: "e2", order: "o1" })).toMatchObject({ outcome: "refused", reason: "order is refunded" });
  expect([await statusOf("o1"), await owed()]).toEqual(["refunded", []]);
});

test("a payment for a missing order waits, and is applied with the order", async () => {
  expect(await pay({ event: "e1", order: "o1" })).toMatchObject({ outcome: "parked" });
  await place("o1");
  await app.drain();
  expect([await statusOf("o1"), await owed()]).toEqual(["paid", ["acme/o1/fulfil/v1"]]);
});

test("money for a cancelled order is owed back once", async () => {
  await place("o1");
  expect(await cancelOrder(app, "acme", "o1")).toBe(true);
  await pay({ event: "e1", order: "o1", payment: "p1" });
  await pay({ event: "e1-again", order: "o1", payment: "p1" });
  expect([await statusOf("o1"), await owed()]).toEqual(["cancelled", ["acme/o1/refund/v1"]]);
});

test("a payment in another currency is refused", async () => {
  await place("o1");
  expect(await pay({ event: "e1", order: "o1", currency: "usd" })).toMatchObject({ outcome: "refused" });
  expect(await owed()).toEqual([]);
});

test("an account that maps to no tenant is kept and applies nothing; the same ids in two tenants never meet", async () => {
  await place("o1", "north");
  await place("o1", "south");
  expect(await pay({ event: "e1", order: "o1", account: "acct_stranger" })).toMatchObject({ outcome: "quarantined" });
  expect(await owed()).toEqual([]);
  await pay({ event: "e1", order: "o1", account: "acct_north" });
  expect([await statusOf("o1", "north"), await statusOf("o1", "south")]).toEqual(["paid", "awaiting_payment"]);
  await pay({ event: "e1", order: "o1", account: "acct_south" });
  expect(await owed()).toEqual(["north/o1/fulfil/v1", "south/o1/fulfil/v1"]);
});
