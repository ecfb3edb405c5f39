import { defineProvider } from "./define-provider.ts";
import type { Provider } from "./provider.ts";
import { day } from "./spans.ts";
import { standardWebhooksSchemes } from "./standard-webhooks.ts";

/**
 * Svix, and the many that send through it: Standard Webhooks under its own header names or the standard's. What the
 * body holds is the sender's; a type is looked for under three names. Messages can be recovered long after their
 * tries have ended.
 *
 * Source: https://docs.svix.com/receiving/verifying-payloads/how-manual
 */
export const svix: Provider<"svix"> = defineProvider({
  name: "svix",
  title: "Svix",
  docs: "https://docs.svix.com/receiving/verifying-payloads/how-manual",
  schemes: [...standardWebhooksSchemes({ headerPrefix: "svix" }), ...standardWebhooksSchemes()],
  identity: {
    id: {
      from: "first",
      of: [
        { from: "header", name: "svix-id" },
        { from: "header", name: "webhook-id" },
      ],
    },
    type: {
      from: "first",
      of: [
        { from: "body", path: ["type"] },
        { from: "body", path: ["event_type"] },
        { from: "body", path: ["eventType"] },
      ],
    },
  },
  ackMs: 15_000,
  retries: true,
  redeliveryMs: 90 * day,
  samples: { "invoice.paid": { type: "invoice.paid", data: { id: "invoice_1" } } },
  unconfirmed: {
    identity: "where the type stands is the sender's choice",
    redeliveryMs: "tries end after 28 hours; a recovery by hand has no stated end, 90 days are taken",
  },
  proof: "published vectors",
});
