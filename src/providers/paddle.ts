import { bodyHmac } from "./body-hmac.ts";
import { defineProvider } from "./define-provider.ts";
import type { Provider } from "./provider.ts";
import { day } from "./spans.ts";

/**
 * Paddle Billing: HMAC-SHA256 over the timestamp and the body. Any of several `h1` may be the right one; Paddle's
 * own library looks at the last only. The tolerance is that library's 5 seconds, counted from the arrival.
 *
 * Source: https://developer.paddle.com/webhooks/signature-verification
 */
export const paddle: Provider<"paddle"> = defineProvider({
  name: "paddle",
  title: "Paddle",
  docs: "https://developer.paddle.com/webhooks/signature-verification",
  schemes: [
    bodyHmac("paddle-signature", {
      grammar: { kind: "pairs", separator: ";", signature: "h1" },
      signed: ["timestamp", { literal: ":" }, "body"],
      timestamp: { from: { pair: "ts" }, unit: "s", pastMs: 5_000, futureMs: 5_000 },
    }),
  ],
  identity: { id: { from: "body", path: ["event_id"] }, type: { from: "body", path: ["event_type"] } },
  data: ["data"],
  volatile: [["notification_id"]],
  ackMs: 5_000,
  retries: true,
  redeliveryMs: 30 * day,
  answers: { open: 200 },
  samples: {
    "transaction.completed": {
      notification_id: "ntf_sample",
      occurred_at: "2026-01-01T00:00:00Z",
      data: { id: "txn_sample", status: "completed" },
    },
  },
  unconfirmed: { redeliveryMs: "tries end after 3 days; a replay by hand has no stated end, 30 days are taken" },
  proof: "published vectors",
});
