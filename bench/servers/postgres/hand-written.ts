/**
 * The contender to beat on PostgreSQL: one transaction of six statements a delivery, each prepared
 * under its name. Receipt, bytes, guarded change of the order and owed work; the 200 follows the commit.
 */
import type { PoolClient } from "pg";
import { announceListening } from "../../kit/child.ts";
import { prepared } from "../../kit/written-by-hand.ts";
import { type PaymentEvent, stripeReceiver } from "../stripe-receiver.ts";

const insertReceipt = {
  name: "receipt",
  text: "INSERT INTO receipts (id, type) VALUES ($1, $2) ON CONFLICT DO NOTHING",
};
const insertPayload = { name: "payload", text: "INSERT INTO payloads (receipt_id, body) VALUES ($1, $2)" };
const markPaid = {
  name: "paid",
  text: "UPDATE orders SET status = 'paid' WHERE id = $1 AND status = 'awaiting_payment'",
};
const insertObligation = {
  name: "obligation",
  text: "INSERT INTO obligations (operation_key, order_id, state) VALUES ($1, $2, 'owed')",
};

const { pool, secret } = await prepared();

async function apply(event: PaymentEvent, body: Buffer): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query("BEGIN");
    await applyWithin(client, event, body);
    await client.query("COMMIT");
  } catch (error) {
    // Whatever state the connection is in, nobody else gets it.
    client.release(true);
    throw error;
  }
  client.release();
}

async function applyWithin(client: PoolClient, event: PaymentEvent, body: Buffer): Promise<void> {
  const { rowCount: fresh } = await client.query({ ...insertReceipt, values: [event.id, event.type] });
  if (fresh !== 1) return;
  await client.query({ ...insertPayload, values: [event.id, body] });
  if (event.type !== "payment_intent.succeeded") return;
  const { rowCount: changed } = await client.query({ ...markPaid, values: [event.order] });
  if (changed !== 1) return;
  await client.query({ ...insertObligation, values: [`${event.order}/fulfil/v1`, event.order] });
}

const server = stripeReceiver({ secret, apply });
announceListening(await server.listen({ host: "127.0.0.1", port: 0 }));
