/** The shop's own tables, and its own request path: the same guards as the webhooks. */
import type { App } from "counterfoil";
import { courier, ship } from "./fulfilment.ts";

export interface NewOrder {
  readonly tenant: string;
  readonly id: string;
  readonly total: number;
  readonly currency: string;
  readonly carrier?: "keeps_keys" | "ignores_keys";
}

export async function createTables(app: App): Promise<void> {
  await app.transaction({ tenant: "acme" }, async ({ tx }) => {
    await tx.sql`
      CREATE TABLE IF NOT EXISTS orders (
        tenant TEXT NOT NULL, id TEXT NOT NULL, total INTEGER NOT NULL, currency TEXT NOT NULL,
        carrier TEXT NOT NULL, status TEXT NOT NULL DEFAULT 'awaiting_payment', tracking TEXT,
        PRIMARY KEY (tenant, id))`;
    await tx.sql`
      CREATE TABLE IF NOT EXISTS payments (
        tenant TEXT NOT NULL, id TEXT NOT NULL, order_id TEXT NOT NULL, amount INTEGER NOT NULL,
        PRIMARY KEY (tenant, id))`;
  });
}

/** Checkout: stores the order and tells events that came before it. */
export async function placeOrder(app: App, order: NewOrder): Promise<void> {
  const { tenant, id, total, currency, carrier = "keeps_keys" } = order;
  await app.transaction({ tenant }, async ({ tx, arrived }) => {
    await tx.sql`
      INSERT INTO orders (tenant, id, total, currency, carrier)
      VALUES (${tenant}, ${id}, ${total}, ${currency}, ${carrier}) ON CONFLICT DO NOTHING`;
    await arrived("order", id);
  });
}

export async function cancelOrder(app: App, tenant: string, id: string): Promise<boolean> {
  return app.transaction({ tenant }, async ({ tx }) => {
    const { changes } = await tx.sql`
      UPDATE orders SET status = 'cancelled'
      WHERE tenant = ${tenant} AND id = ${id} AND status = 'awaiting_payment'`;
    return changes > 0;
  });
}

/** A parcel was lost: an intended second shipment is another version of the operation, never the same key. */
export async function replaceShipment(app: App, tenant: string, id: string): Promise<void> {
  await app.transaction({ tenant }, async ({ tx, owe }) => {
    const [order] = await tx.sql<{ carrier: string }>`
      SELECT carrier FROM orders WHERE tenant = ${tenant} AND id = ${id} AND status = 'paid'`;
    if (order === undefined) throw new Error(`Cannot replace the shipment of "${id}": the order is not paid`);
    const effect = order.carrier === "keeps_keys" ? ship : courier;
    await owe(effect, { key: [id, "fulfil", "v2"], input: { order: id } });
  });
}
