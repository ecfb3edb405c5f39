/** The same work as `hand-written.ts` in one statement, which is its own transaction: one round trip a delivery. */
import { announceListening } from "../../kit/child.ts";
import { prepared } from "../../kit/written-by-hand.ts";
import { stripeReceiver } from "../stripe-receiver.ts";

const applyAll = {
  name: "apply",
  text: `
    WITH receipt AS (
      INSERT INTO receipts (id, type) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING id, type),
    payload AS (INSERT INTO payloads (receipt_id, body) SELECT id, $3::bytea FROM receipt),
    paid AS (
      UPDATE orders SET status = 'paid' FROM receipt
      WHERE orders.id = $4 AND orders.status = 'awaiting_payment' AND receipt.type = 'payment_intent.succeeded'
      RETURNING orders.id)
    INSERT INTO obligations (operation_key, order_id, state) SELECT id || '/fulfil/v1', id, 'owed' FROM paid`,
};

const { pool, secret } = await prepared();

const server = stripeReceiver({
  secret,
  async apply(event, body) {
    await pool.query({ ...applyAll, values: [event.id, event.type, body, event.order] });
  },
});
announceListening(await server.listen({ host: "127.0.0.1", port: 0 }));
