import { bodyHmac } from "./body-hmac.ts";
import { defineProvider } from "./define-provider.ts";
import type { Provider } from "./provider.ts";
import { day } from "./spans.ts";

/**
 * Razorpay: HMAC-SHA256 over the body. The event's id travels in a header that no signature covers. A webhook is
 * switched off after 24 hours of failures.
 *
 * Source: https://razorpay.com/docs/webhooks/validate-test/
 */
export const razorpay: Provider<"razorpay"> = defineProvider({
  name: "razorpay",
  title: "Razorpay",
  docs: "https://razorpay.com/docs/webhooks/validate-test/",
  schemes: [bodyHmac("x-razorpay-signature")],
  identity: {
    id: { from: "header", name: "x-razorpay-event-id" },
    type: { from: "body", path: ["event"] },
    account: [{ from: "body", path: ["account_id"] }],
  },
  data: ["payload"],
  ackMs: 5_000,
  retries: true,
  redeliveryMs: day,
  samples: {
    "payment.captured": {
      account_id: "acc_1",
      created_at: 1_767_225_600,
      payload: { payment: { entity: { id: "pay_1" } } },
    },
  },
  unconfirmed: {
    identity: "that the id stands in x-razorpay-event-id is general knowledge",
    ackMs: "5 s is general knowledge",
  },
  proof: "published vectors",
});
