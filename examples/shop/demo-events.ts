/** What a rough day brings: the same payments doubled, shuffled, forged, conflicting, and under other ids. */
import { sampleDelivery, type SignedDelivery, stripe } from "counterfoil/providers";

export interface DemoDelivery {
  /** What it is, for the table. */
  readonly kind: "honest" | "copy" | "other id" | "conflicting" | "forged" | "refund";
  readonly delivery: SignedDelivery;
}

export interface DemoOrder {
  readonly id: string;
  readonly total: number;
  readonly currency: string;
  readonly carrier: "keeps_keys" | "ignores_keys";
  /** Refunded before it was paid: it must never ship. */
  readonly refundedFirst: boolean;
  /** Placed only after its payment was announced. */
  readonly late: boolean;
}

export function demoOrders(count: number): readonly DemoOrder[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `order-${index + 1}`,
    total: 1000 + index,
    currency: "eur",
    carrier: index % 2 === 0 ? "keeps_keys" : "ignores_keys",
    refundedFirst: index % 8 === 7,
    late: index % 5 === 0,
  }));
}

/** Every delivery of every order; some orders are paid in two parts. */
export function demoDeliveries(orders: readonly DemoOrder[], secret: string): readonly DemoDelivery[] {
  return orders.flatMap((order, index) => {
    const parts = index % 3 === 0 ? [400, order.total - 400] : [order.total];
    return parts.flatMap((amount, part) => paymentDeliveries(order, { name: `${index}-${part}`, amount, secret }));
  });
}

interface Payment {
  readonly name: string;
  readonly amount: number;
  readonly secret: string;
}

function paymentDeliveries(order: DemoOrder, { name, amount, secret }: Payment): DemoDelivery[] {
  const event = (id: string, paidAmount = amount): SignedDelivery =>
    signed("payment_intent.succeeded", secret, {
      id,
      object: {
        id: `pi_${name}`,
        amount_received: paidAmount,
        currency: order.currency,
        metadata: { order: order.id },
      },
    });
  const honest = event(`evt_${name}`);
  return [
    { kind: "honest", delivery: honest },
    { kind: "copy", delivery: honest },
    { kind: "copy", delivery: event(`evt_${name}`) },
    { kind: "other id", delivery: event(`evt_${name}_again`) },
    { kind: "conflicting", delivery: event(`evt_${name}`, amount + 1) },
    {
      kind: "forged",
      delivery: {
        ...honest,
        body: new TextEncoder().encode(Buffer.from(honest.body).toString().replace("eur", "usd")),
      },
    },
  ];
}

export function refundDelivery(order: DemoOrder, secret: string): DemoDelivery {
  const delivery = signed("charge.refunded", secret, {
    id: `evt_refund_${order.id}`,
    object: {
      id: `ch_${order.id}`,
      amount_refunded: order.total,
      currency: order.currency,
      metadata: { order: order.id },
    },
  });
  return { kind: "refund", delivery };
}

interface Content {
  readonly id: string;
  readonly object: Readonly<Record<string, string | number | Record<string, string>>>;
}

function signed(type: string, secret: string, { id, object }: Content): SignedDelivery {
  return sampleDelivery(stripe.rules, {
    secret,
    type,
    id,
    timestampMs: Date.now(),
    body: { livemode: true, data: { object } },
  });
}
