import { defineProvider } from "./define-provider.ts";
import type { Provider } from "./provider.ts";
import { day } from "./spans.ts";
import { standardWebhooksSchemes } from "./standard-webhooks.ts";

/**
 * Resend: Svix's headers.
 *
 * Source: https://resend.com/docs/dashboard/webhooks/verify-webhooks-requests
 */
export const resend: Provider<"resend"> = defineProvider({
  name: "resend",
  title: "Resend",
  docs: "https://resend.com/docs/dashboard/webhooks/verify-webhooks-requests",
  schemes: standardWebhooksSchemes({ headerPrefix: "svix" }),
  identity: { id: { from: "header", name: "svix-id" }, type: { from: "body", path: ["type"] } },
  data: ["data"],
  ackMs: 15_000,
  retries: true,
  redeliveryMs: 90 * day,
  samples: { "email.delivered": { created_at: "2026-01-01T00:00:00.000Z", data: { email_id: "email_1" } } },
  unconfirmed: { redeliveryMs: "that tries follow Svix's schedule is general knowledge; 90 days are taken" },
  proof: "the provider's SDK",
});
