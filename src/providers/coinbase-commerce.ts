import { bodyHmac } from "./body-hmac.ts";
import { defineProvider } from "./define-provider.ts";
import type { Provider } from "./provider.ts";
import { day } from "./spans.ts";

/**
 * Coinbase Commerce: HMAC-SHA256 over the body. The event stands in `event`; what is around it is of the delivery.
 *
 * Source: https://docs.cdp.coinbase.com/commerce/docs/webhooks-security
 */
export const coinbaseCommerce: Provider<"coinbase-commerce"> = defineProvider({
  name: "coinbase-commerce",
  title: "Coinbase Commerce",
  docs: "https://docs.cdp.coinbase.com/commerce/docs/webhooks-security",
  schemes: [bodyHmac("x-cc-webhook-signature")],
  identity: { id: { from: "body", path: ["event", "id"] }, type: { from: "body", path: ["event", "type"] } },
  data: ["event", "data"],
  volatile: [["id"], ["attempt_number"], ["scheduled_for"]],
  ackMs: 10_000,
  retries: true,
  redeliveryMs: 4 * day,
  answers: { open: 200 },
  samples: {
    "charge:confirmed": {
      id: 1,
      attempt_number: 1,
      scheduled_for: "2026-01-01T00:00:00Z",
      event: { created_at: "2026-01-01T00:00:00Z", data: { code: "SAMPLE1" } },
    },
  },
  unconfirmed: {
    ackMs: "no time limit for the answer is confirmed",
    retries: "tries for 3 days are general knowledge",
    redeliveryMs: "tries for 3 days are general knowledge",
  },
  proof: "published vectors",
});
