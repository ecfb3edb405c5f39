import { defineProvider } from "./define-provider.ts";
import type { Provider } from "./provider.ts";
import { day } from "./spans.ts";
import { standardWebhooksSchemes } from "./standard-webhooks.ts";

/**
 * Clerk: Svix's headers. Clerk's own helper does not give the id, which stands in `svix-id`.
 *
 * Source: https://clerk.com/docs/guides/development/webhooks/overview
 */
export const clerk: Provider<"clerk"> = defineProvider({
  name: "clerk",
  title: "Clerk",
  docs: "https://clerk.com/docs/guides/development/webhooks/overview",
  schemes: standardWebhooksSchemes({ headerPrefix: "svix" }),
  identity: {
    id: { from: "header", name: "svix-id" },
    type: { from: "body", path: ["type"] },
    account: [{ from: "body", path: ["instance_id"] }],
  },
  data: ["data"],
  ackMs: 15_000,
  retries: true,
  redeliveryMs: 90 * day,
  samples: {
    "user.created": { object: "event", timestamp: 1_767_225_600_000, instance_id: "ins_1", data: { id: "user_1" } },
  },
  unconfirmed: { redeliveryMs: "a replay by hand has no stated end, 90 days are taken" },
  proof: "the provider's SDK",
});
