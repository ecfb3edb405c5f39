import { bodyHmac } from "./body-hmac.ts";
import { defineProvider } from "./define-provider.ts";
import type { Provider } from "./provider.ts";
import { day } from "./spans.ts";

/**
 * GoCardless: HMAC-SHA256 over the body. A batch has up to 250 events and is sent again whole. A wrong signature is
 * answered 498, as its libraries do.
 *
 * Source: https://developer.gocardless.com/api-reference/#appendix-webhooks
 */
export const gocardless: Provider<"gocardless"> = defineProvider({
  name: "gocardless",
  title: "GoCardless",
  docs: "https://developer.gocardless.com/api-reference/#appendix-webhooks",
  schemes: [bodyHmac("webhook-signature")],
  batch: { path: ["events"] },
  identity: {
    id: { from: "body", path: ["id"] },
    type: {
      from: "joined",
      by: ".",
      of: [
        { from: "body", path: ["resource_type"] },
        { from: "body", path: ["action"] },
      ],
    },
    account: [{ from: "body", path: ["links", "organisation"] }],
  },
  ackMs: 10_000,
  retries: true,
  redeliveryMs: 30 * day,
  answers: { SIGNATURE_REFUSED: 498 },
  samples: {
    "mandates.created": {
      created_at: "2026-01-01T00:00:00.000Z",
      resource_type: "mandates",
      action: "created",
      links: { mandate: "MD1" },
    },
  },
  sampleEnvelope: { meta: { webhook_id: "WB1" } },
  unconfirmed: {
    ackMs: "10 s is general knowledge",
    redeliveryMs: "up to eight tries are general knowledge; a retry by hand has no stated end, 30 days are taken",
  },
  proof: "published vectors",
});
