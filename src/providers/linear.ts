import { bodyHmac } from "./body-hmac.ts";
import { defineProvider } from "./define-provider.ts";
import type { Provider } from "./provider.ts";
import { day } from "./spans.ts";

/**
 * Linear: HMAC-SHA256 over the body, whose own `webhookTimestamp` is what the 60 seconds are counted from. The
 * delivery id travels in a header that no signature covers.
 *
 * Source: https://linear.app/developers/webhooks
 */
export const linear: Provider<"linear"> = defineProvider({
  name: "linear",
  title: "Linear",
  docs: "https://linear.app/developers/webhooks",
  schemes: [
    bodyHmac("linear-signature", {
      timestamp: { from: { body: ["webhookTimestamp"] }, unit: "ms", pastMs: 60_000, futureMs: 60_000 },
    }),
  ],
  identity: {
    id: { from: "header", name: "linear-delivery" },
    type: {
      from: "joined",
      by: ".",
      of: [
        { from: "body", path: ["type"] },
        { from: "body", path: ["action"] },
      ],
    },
    account: [{ from: "body", path: ["organizationId"] }],
  },
  data: ["data"],
  volatile: [["webhookTimestamp"]],
  ackMs: 5_000,
  retries: true,
  redeliveryMs: day,
  answers: { open: 200 },
  samples: {
    "Issue.update": {
      type: "Issue",
      action: "update",
      organizationId: "organization-1",
      data: { id: "issue-1", updatedAt: "2026-01-01T00:00:00Z", title: "Sample" },
    },
  },
  unconfirmed: {
    identity: "whether Linear-Delivery stays the same on a retry",
    retries: "tries after 1 minute, 1 hour and 6 hours are general knowledge",
    redeliveryMs: "no document says how long tries go on",
  },
  proof: "the provider's SDK",
});
