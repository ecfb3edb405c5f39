import { defineProvider } from "./define-provider.ts";
import type { Provider } from "./provider.ts";
import { hour } from "./spans.ts";

/**
 * Microsoft Graph's change notifications: nothing is signed; `clientState` in each item of the batch is a secret of
 * yours, and one wrong one refuses them all. Many notifications have no id: each is then an event of its own, and what
 * changed is to be fetched. The handshake echoes a token as inert text.
 *
 * Source: https://learn.microsoft.com/graph/change-notifications-delivery-webhooks
 */
export const msgraph: Provider<"msgraph"> = defineProvider({
  name: "msgraph",
  title: "Microsoft Graph",
  docs: "https://learn.microsoft.com/graph/change-notifications-delivery-webhooks",
  schemes: [{ kind: "token", field: ["clientState"], each: ["value"] }],
  batch: { path: ["value"] },
  identity: {
    id: { from: "arrival", orFirst: { from: "body", path: ["id"] } },
    type: { from: "body", path: ["changeType"] },
    account: [{ from: "body", path: ["tenantId"] }],
  },
  ackMs: 3_000,
  retries: true,
  redeliveryMs: 4 * hour,
  handshake: { kind: "challenge", method: "POST", challengeParam: "validationToken" },
  samples: {
    updated: {
      subscriptionId: "subscription-1",
      changeType: "updated",
      tenantId: "tenant-1",
      resource: "users/1/events/1",
    },
  },
});
