import { bodyHmac } from "./body-hmac.ts";
import { defineProvider } from "./define-provider.ts";
import type { Provider } from "./provider.ts";
import { day } from "./spans.ts";

/**
 * Calendly: HMAC-SHA256 over the timestamp and the body, under a key per subscription. Events have no id.
 *
 * Source: https://developer.calendly.com/api-docs/ZG9jOjM2MzE2MDM4-webhook-signatures
 */
export const calendly: Provider<"calendly"> = defineProvider({
  name: "calendly",
  title: "Calendly",
  docs: "https://developer.calendly.com/api-docs/ZG9jOjM2MzE2MDM4-webhook-signatures",
  schemes: [
    bodyHmac("calendly-webhook-signature", {
      grammar: { kind: "pairs", separator: ",", signature: "v1" },
      signed: ["timestamp", { literal: "." }, "body"],
      timestamp: { from: { pair: "t" }, unit: "s", pastMs: 180_000, futureMs: 180_000 },
    }),
  ],
  identity: {
    id: {
      from: "derived",
      parts: [
        { from: "body", path: ["event"] },
        { from: "body", path: ["payload", "uri"] },
        { from: "body", path: ["created_at"] },
      ],
    },
    type: { from: "body", path: ["event"] },
  },
  data: ["payload"],
  ackMs: 10_000,
  retries: true,
  redeliveryMs: day,
  samples: {
    "invitee.created": {
      created_at: "2026-01-01T00:00:00.000000Z",
      payload: { uri: "https://api.calendly.com/scheduled_events/1/invitees/1", email: "person@example.com" },
    },
  },
  unconfirmed: {
    ackMs: "no time limit for the answer is confirmed",
    retries: "tries for 24 hours are general knowledge",
    redeliveryMs: "tries for 24 hours are general knowledge",
  },
});
