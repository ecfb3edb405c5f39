/** The order of the first article on the product: one order, one payment handler, one shipment owed. */
import { type App, connect, defineApp, effect, type Limits, type SqlValue, type } from "counterfoil";
import { type SignedDelivery, stripe } from "counterfoil/providers";
import type { Clock } from "../../src/domain/clock.ts";
import type { Probe } from "../../src/domain/probe.ts";
import { sampleDelivery } from "../../src/providers/sample-delivery.ts";
import { storeAt } from "./engine.ts";
import { patient } from "./patient.ts";

export { temporaryDatabase } from "./engine.ts";

export const secret = "whsec_a_secret_of_the_test_suite";

export interface OrderAppOptions {
  readonly carrier?: string;
  readonly failing?: "hold" | "refuse";
  /** Asked after the order moved and before the shipment is owed; throws to inject a failure. */
  readonly beforeOwe?: () => void;
  readonly limits?: Partial<Limits>;
  readonly clock?: Clock;
  readonly probe?: Probe;
}

export function orderApp(address: string, options: OrderAppOptions = {}): App {
  const { carrier = "http://127.0.0.1:9", failing = "hold", limits, clock, probe } = options;
  const ship = effect("ship/v1", {
    input: type<{ order: string }>(),
    answer: type<{ id: string }>(),
    request: ({ input, key }) => ({ method: "POST", url: `${carrier}/v1/shipments`, json: { ...input, ref: key } }),
    idempotency: { header: "Idempotency-Key", keyLifetime: "24h" },
    lookup: {
      get: ({ key }) => `${carrier}/v1/shipments?ref=${encodeURIComponent(key)}`,
      answer: type<{ shipments: { id: string }[] }>(),
      found: ({ shipments }) => shipments[0],
    },
    allow: [carrier],
    settled: ({ tx, operation, result }) =>
      tx.sql`UPDATE orders SET tracking = ${result.answer.id} WHERE id = ${operation.input.order}`,
  });
  const paid = stripe.on("payment_intent.succeeded", async ({ event, tx, owe, waitFor, refuse }) => {
    const id = event.data.object.metadata["order"] ?? "order-1";
    const [order] = await tx.sql<{ status: string }>`SELECT status FROM orders WHERE id = ${id}`;
    if (order === undefined) return waitFor("order", id);
    const { changes } = await tx.sql`
      UPDATE orders SET status = 'paid' WHERE id = ${id} AND status = 'awaiting_payment'`;
    if (changes === 0) return refuse(`order is ${order.status}`);
    options.beforeOwe?.();
    await owe(ship, { key: [id, "fulfil", "v1"], input: { order: id } });
  });
  return defineApp({
    store: storeAt(address, { clock, probe }),
    connections: [
      connect("stripe", {
        provider: patient(stripe),
        secrets: [secret],
        tenant: "tenant-a",
        handlers: [paid],
        failing,
      }),
    ],
    effects: [ship],
    ...(limits && { limits }),
    testing: { ...(clock && { clock }), ...(probe && { probe }) },
  });
}

export async function placeOrders(app: App, ...ids: readonly string[]): Promise<void> {
  await app.transaction({ tenant: "tenant-a" }, async ({ tx, arrived }) => {
    await tx.sql`
      CREATE TABLE IF NOT EXISTS orders (
        id TEXT PRIMARY KEY, status TEXT NOT NULL DEFAULT 'awaiting_payment', tracking TEXT)`;
    for (const id of ids) {
      await tx.sql`INSERT INTO orders (id) VALUES (${id})`;
      await arrived("order", id);
    }
  });
}

/** A signed payment event for an order. */
export function payment(
  eventId: string,
  order = "order-1",
  more: Readonly<Record<string, string>> = {},
): SignedDelivery {
  return sampleDelivery(stripe.rules, {
    secret,
    id: eventId,
    type: "payment_intent.succeeded",
    timestampMs: Date.now(),
    body: {
      data: { object: { id: `pi_${order}`, amount_received: 100, currency: "eur", metadata: { order, ...more } } },
    },
  });
}

/** Rows of one statement, in a transaction of the application's own. */
export function rows<Row extends object = Readonly<Record<string, SqlValue>>>(
  app: App,
  text: string,
): Promise<readonly Row[]> {
  const template = Object.assign([text], { raw: [text] });
  return app.transaction({ tenant: "tenant-a" }, async ({ tx }) => [...(await tx.sql<Row>(template))]);
}

/** An application that is stopped at the end of the scope. */
export async function openApp(app: App): Promise<AsyncDisposable & { readonly app: App }> {
  await app.open();
  return { app, [Symbol.asyncDispose]: () => app.stop() };
}
