import { bodyHmac } from "./body-hmac.ts";
import { defineProvider } from "./define-provider.ts";
import type { Provider } from "./provider.ts";
import { day } from "./spans.ts";

/**
 * Intercom: HMAC-SHA1 over the body, in the header that Bitbucket and Jira use with SHA-256.
 *
 * Source: https://developers.intercom.com/docs/webhooks/setting-up-webhooks
 */
export const intercom: Provider<"intercom"> = defineProvider({
  name: "intercom",
  title: "Intercom",
  docs: "https://developers.intercom.com/docs/webhooks/setting-up-webhooks",
  schemes: [bodyHmac("x-hub-signature", { hash: "sha1", prefix: "sha1=" })],
  identity: {
    id: { from: "body", path: ["id"] },
    type: { from: "body", path: ["topic"] },
    account: [{ from: "body", path: ["app_id"] }],
  },
  data: ["data"],
  volatile: [["delivery_attempts"]],
  ackMs: 5_000,
  retries: true,
  redeliveryMs: day,
  samples: {
    "conversation.user.created": {
      type: "notification_event",
      app_id: "app1",
      delivery_attempts: 1,
      created_at: 1_767_225_600,
      data: { item: { type: "conversation", id: "1" } },
    },
  },
  unconfirmed: {
    identity: "that the type stands in topic is general knowledge",
    retries: "sources differ on how often it tries again",
    redeliveryMs: "no document says how long tries go on",
  },
});
