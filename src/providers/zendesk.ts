import { bodyHmac } from "./body-hmac.ts";
import { defineProvider } from "./define-provider.ts";
import type { Provider } from "./provider.ts";
import { day } from "./spans.ts";

/**
 * Zendesk: HMAC-SHA256 over the timestamp and the body, with nothing between them. The invocation's id travels in a
 * header that no signature covers.
 *
 * Source: https://developer.zendesk.com/documentation/webhooks/verifying/
 */
export const zendesk: Provider<"zendesk"> = defineProvider({
  name: "zendesk",
  title: "Zendesk",
  docs: "https://developer.zendesk.com/documentation/webhooks/verifying/",
  schemes: [
    bodyHmac("x-zendesk-webhook-signature", {
      encoding: "base64",
      signed: ["timestamp", "body"],
      timestamp: {
        from: { header: "x-zendesk-webhook-signature-timestamp" },
        unit: "rfc3339",
        pastMs: day,
        futureMs: 300_000,
      },
    }),
  ],
  identity: {
    id: { from: "header", name: "x-zendesk-webhook-invocation-id" },
    type: {
      from: "first",
      of: [
        { from: "body", path: ["type"] },
        { from: "fixed", text: "webhook" },
      ],
    },
  },
  ackMs: 12_000,
  retries: true,
  redeliveryMs: day,
  samples: {
    "zen:event-type:ticket.created": {
      type: "zen:event-type:ticket.created",
      time: "2026-01-01T00:00:00Z",
      detail: { id: "1" },
      event: {},
    },
  },
  unconfirmed: {
    schemes: "Zendesk states no tolerance for its timestamp; a day is taken",
    ackMs: "12 s is general knowledge",
    redeliveryMs: "no document says how long tries go on",
  },
});
