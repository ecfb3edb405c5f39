import { bodyHmac } from "./body-hmac.ts";
import { defineProvider } from "./define-provider.ts";
import type { Provider } from "./provider.ts";
import { day } from "./spans.ts";

/**
 * Typeform: HMAC-SHA256 over the body; behind `sha256=` stands base64, not hex.
 *
 * Source: https://www.typeform.com/developers/webhooks/secure-your-webhooks/
 */
export const typeform: Provider<"typeform"> = defineProvider({
  name: "typeform",
  title: "Typeform",
  docs: "https://www.typeform.com/developers/webhooks/secure-your-webhooks/",
  schemes: [bodyHmac("typeform-signature", { prefix: "sha256=", encoding: "base64" })],
  identity: { id: { from: "body", path: ["event_id"] }, type: { from: "body", path: ["event_type"] } },
  data: ["form_response"],
  ackMs: 30_000,
  retries: true,
  redeliveryMs: day,
  samples: {
    form_response: {
      form_response: { form_id: "form1", token: "t1", submitted_at: "2026-01-01T00:00:00Z", answers: [] },
    },
  },
  unconfirmed: {
    ackMs: "30 s is general knowledge",
    retries: "tries over about 10 hours are general knowledge",
    redeliveryMs: "tries over about 10 hours are general knowledge",
  },
});
