import { bodyHmac } from "./body-hmac.ts";
import { defineProvider } from "./define-provider.ts";
import type { Provider } from "./provider.ts";
import { day } from "./spans.ts";

/**
 * Lemon Squeezy: HMAC-SHA256 over the body. Events have no id. Nothing here was confirmed at the source.
 *
 * Source: https://docs.lemonsqueezy.com/help/webhooks/signing-requests
 */
export const lemonSqueezy: Provider<"lemon-squeezy"> = defineProvider({
  name: "lemon-squeezy",
  title: "Lemon Squeezy",
  docs: "https://docs.lemonsqueezy.com/help/webhooks/signing-requests",
  schemes: [bodyHmac("x-signature")],
  identity: {
    id: {
      from: "derived",
      parts: [
        { from: "body", path: ["meta", "event_name"] },
        { from: "body", path: ["data", "id"] },
        { from: "body", path: ["data", "attributes", "updated_at"] },
      ],
    },
    type: { from: "body", path: ["meta", "event_name"] },
    account: [{ from: "body", path: ["data", "attributes", "store_id"] }],
  },
  data: ["data"],
  ackMs: 10_000,
  retries: true,
  redeliveryMs: day,
  answers: { open: 200 },
  samples: {
    order_created: {
      meta: { event_name: "order_created" },
      data: { type: "orders", id: "1", attributes: { store_id: 1, updated_at: "2026-01-01T00:00:00Z" } },
    },
  },
  unconfirmed: {
    schemes: "the whole scheme is general knowledge",
    identity: "that name, id and updated_at tell events apart is general knowledge",
    ackMs: "no time limit for the answer is confirmed",
    retries: "tries after 5, 25 and 125 s are general knowledge",
    redeliveryMs: "no document says how long tries go on",
  },
});
