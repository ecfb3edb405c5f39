import { bodyHmac } from "./body-hmac.ts";
import { defineProvider } from "./define-provider.ts";
import type { Provider } from "./provider.ts";
import { day } from "./spans.ts";

/**
 * Notion: HMAC-SHA256 over the body, under a token that Notion sends once, while the subscription is being made: take it
 * in `handshake.onSecret`, and only then. Events are aggregated; what changed is to be fetched.
 *
 * Source: https://developers.notion.com/reference/webhooks
 */
export const notion: Provider<"notion"> = defineProvider({
  name: "notion",
  title: "Notion",
  docs: "https://developers.notion.com/reference/webhooks",
  schemes: [bodyHmac("x-notion-signature", { prefix: "sha256=" })],
  identity: {
    id: { from: "body", path: ["id"] },
    type: { from: "body", path: ["type"] },
    account: [{ from: "body", path: ["workspace_id"] }],
  },
  volatile: [["attempt_number"]],
  ackMs: 10_000,
  retries: true,
  redeliveryMs: 2 * day,
  handshake: { kind: "secret", member: "verification_token" },
  samples: {
    "page.created": {
      timestamp: "2026-01-01T00:00:00.000Z",
      workspace_id: "workspace-1",
      subscription_id: "subscription-1",
      attempt_number: 1,
      entity: { id: "page-1", type: "page" },
    },
  },
  unconfirmed: {
    ackMs: "no time limit for the answer is confirmed",
    retries: "8 tries over 24 hours are general knowledge",
    redeliveryMs: "8 tries over 24 hours are general knowledge",
    handshake: "sources differ on whether it is signed; it proves nothing either way",
  },
  proof: "the provider's SDK",
});
