import { bodyHmac } from "./body-hmac.ts";
import { defineProvider } from "./define-provider.ts";
import type { Provider } from "./provider.ts";
import { day } from "./spans.ts";
import type { SquareEvents } from "./square-events.ts";

/**
 * Square: HMAC-SHA256 over the notification URL, as configured there, and the body.
 *
 * Source: https://developer.squareup.com/docs/webhooks/step3validate
 */
export const square: Provider<"square", SquareEvents> = defineProvider({
  name: "square",
  title: "Square",
  docs: "https://developer.squareup.com/docs/webhooks/step3validate",
  schemes: [bodyHmac("x-square-hmacsha256-signature", { encoding: "base64", signed: ["url", "body"] })],
  identity: {
    id: { from: "body", path: ["event_id"] },
    type: { from: "body", path: ["type"] },
    account: [{ from: "body", path: ["merchant_id"] }],
  },
  data: ["data"],
  ackMs: 10_000,
  retries: true,
  redeliveryMs: day,
  samples: {
    "payment.updated": {
      merchant_id: "MERCHANT1",
      created_at: "2026-01-01T00:00:00Z",
      data: {
        type: "payment",
        id: "PAYMENT1",
        object: { payment: { id: "PAYMENT1", status: "COMPLETED", version: 2 } },
      },
    },
  },
  unconfirmed: { ackMs: "10 s is general knowledge", redeliveryMs: "whether events are sent again by hand" },
  proof: "published vectors",
});
