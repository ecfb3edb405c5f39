/** What a payment obliges the shop to do. Every branch is a guard: copies, disorder and late news change nothing twice. */
import { transitions } from "counterfoil";
import { stripe } from "counterfoil/providers";
import { courier, refund, ship } from "./fulfilment.ts";

type OrderStatus = "awaiting_payment" | "paid" | "refunded" | "cancelled";

const orderStatus = transitions<OrderStatus>({
  table: "orders",
  key: ["tenant", "id"],
  column: "status",
  from: {
    awaiting_payment: [],
    paid: ["awaiting_payment"],
    refunded: ["awaiting_payment", "paid"],
    cancelled: ["awaiting_payment"],
  },
});

interface Order {
  readonly total: number;
  readonly currency: string;
  readonly carrier: "keeps_keys" | "ignores_keys";
}

export const paid = stripe.on("payment_intent.succeeded", async ({ event, tx, owe, waitFor, refuse, ignore }) => {
  const { id: payment, amount_received: amount, currency, metadata } = event.data.object;
  const { tenant } = event;
  const id = metadata["order"];
  if (id === undefined) return ignore("no order in metadata");
  // The webhook may beat the checkout's own commit: the event waits until the order is there.
  const [order] = await tx.sql<Order>`
    SELECT total, currency, carrier FROM orders WHERE tenant = ${tenant} AND id = ${id}`;
  if (order === undefined) return waitFor("order", id);
  if (currency !== order.currency) return refuse(`paid in ${currency}, owed in ${order.currency}`);
  await tx.sql`
    INSERT INTO payments (tenant, id, order_id, amount) VALUES (${tenant}, ${payment}, ${id}, ${amount})
    ON CONFLICT DO NOTHING`;
  const [sum] = await tx.sql<{ received: number }>`
    SELECT sum(amount) AS received FROM payments WHERE tenant = ${tenant} AND order_id = ${id}`;
  // A part of the price: the order goes on waiting for the rest, and nothing is owed yet.
  if ((sum?.received ?? 0) < order.total) return;
  const step = await orderStatus.move(tx, [tenant, id], "paid");
  if (step.moved) {
    const effect = order.carrier === "keeps_keys" ? ship : courier;
    return owe(effect, { key: [id, "fulfil", "v1"], input: { order: id } });
  }
  // Money for an order that is no longer for sale is owed back, once.
  if (step.current === "cancelled") return owe(refund, { key: [id, "refund", "v1"], input: { payment } });
  return refuse(`order is ${step.current}`);
});

/** A refund may arrive before its payment: the payment then meets an order that is refunded, and ships nothing. */
export const refunded = stripe.on("charge.refunded", async ({ event, tx, waitFor, refuse, ignore }) => {
  const id = event.data.object.metadata["order"];
  if (id === undefined) return ignore("no order in metadata");
  const step = await orderStatus.move(tx, [event.tenant, id], "refunded");
  if (step.moved) return;
  return step.current === undefined ? waitFor("order", id) : refuse(`order is ${step.current}`);
});
