import { defineProvider } from "./define-provider.ts";
import type { Provider } from "./provider.ts";
import type { StripeEvents } from "./stripe-events.ts";

const day = 24 * 3_600_000;

/**
 * Stripe: HMAC-SHA256 over the timestamp and the body, under the endpoint secret's whole text (`whsec_`
 * and all, unlike Standard Webhooks). A rolled secret signs beside the new one, so any `v1` may match.
 *
 * Stripe's own libraries accept timestamps from the future; here the tolerance has two sides.
 *
 * Source: https://docs.stripe.com/webhooks/signature
 *
 * @example
 * ```ts no-run
 * const paid = stripe.on("payment_intent.succeeded", async ({ event, tx }) => {
 *   await tx.sql`UPDATE orders SET status = 'paid' WHERE id = ${event.data.object.metadata.order ?? null}`;
 * });
 * ```
 */
export const stripe: Provider<"stripe", StripeEvents> = defineProvider({
  name: "stripe",
  title: "Stripe",
  docs: "https://docs.stripe.com/webhooks/signature",
  proof: "the provider's SDK",
  schemes: [
    {
      kind: "hmac",
      hash: "sha256",
      headers: ["stripe-signature"],
      grammar: { kind: "pairs", separator: ",", signature: "v1" },
      encoding: "hex",
      key: { from: "utf8" },
      signed: ["timestamp", { literal: "." }, "body"],
      timestamp: { from: { pair: "t" }, unit: "s", pastMs: 300_000, futureMs: 300_000 },
    },
  ],
  identity: {
    id: { from: "body", path: ["id"] },
    type: { from: "body", path: ["type"] },
    account: [
      { from: "body", path: ["account"] },
      { from: "body", path: ["context"] },
    ],
    mode: { path: ["livemode"], live: true, test: false },
  },
  data: ["data"],
  volatile: [["pending_webhooks"]],
  ackMs: 10_000,
  retries: true,
  redeliveryMs: 30 * day,
  samples: {
    "payment_intent.succeeded": {
      object: "event",
      api_version: "2026-09-30",
      created: 1_767_225_600,
      livemode: true,
      pending_webhooks: 1,
      request: { id: null, idempotency_key: null },
      data: {
        object: {
          id: "pi_sample",
          object: "payment_intent",
          amount: 4_200,
          amount_received: 4_200,
          currency: "eur",
          customer: null,
          status: "succeeded",
          metadata: { order: "1042" },
        },
      },
    },
    "charge.refunded": {
      object: "event",
      api_version: "2026-09-30",
      created: 1_767_225_600,
      livemode: true,
      pending_webhooks: 1,
      request: { id: null, idempotency_key: null },
      data: {
        object: {
          id: "ch_sample",
          object: "charge",
          amount: 4_200,
          amount_refunded: 4_200,
          currency: "eur",
          payment_intent: "pi_sample",
          refunded: true,
          metadata: { order: "1042" },
        },
      },
    },
  },
  unconfirmed: {
    ackMs: "Stripe publishes no time limit for the answer",
    redeliveryMs: "retries end after 3 days; resends by hand are said to reach back 30 days",
  },
});
