import { defineProvider } from "./define-provider.ts";
import type { Provider } from "./provider.ts";
import { day } from "./spans.ts";

/**
 * Plaid: a JWT (ES256) whose claim holds the body's SHA-256. Its key is asked for by id, with your own credentials:
 * give the connection a `fetchKey` that calls `/webhook_verification_key/get` and returns the JWK as JSON. Webhooks have
 * no id and say only that something changed, so each is an event of its own; fetch what it speaks of.
 *
 * Source: https://plaid.com/docs/api/webhooks/webhook-verification/
 */
export const plaid: Provider<"plaid"> = defineProvider({
  name: "plaid",
  title: "Plaid",
  docs: "https://plaid.com/docs/api/webhooks/webhook-verification/",
  schemes: [
    {
      kind: "jws",
      header: "plaid-verification",
      algorithms: ["ES256"],
      bodyClaim: "request_body_sha256",
      timestamp: { from: { claim: "iat" }, unit: "s", pastMs: 300_000, futureMs: 300_000 },
      fetchesKeys: true,
    },
  ],
  identity: {
    id: { from: "arrival" },
    type: {
      from: "joined",
      by: ".",
      of: [
        { from: "body", path: ["webhook_type"] },
        { from: "body", path: ["webhook_code"] },
      ],
    },
    account: [{ from: "body", path: ["item_id"] }],
  },
  ackMs: 10_000,
  retries: true,
  redeliveryMs: day,
  answers: { open: 200 },
  samples: {
    "TRANSACTIONS.SYNC_UPDATES_AVAILABLE": {
      webhook_type: "TRANSACTIONS",
      webhook_code: "SYNC_UPDATES_AVAILABLE",
      item_id: "item-1",
      environment: "sandbox",
    },
  },
  unconfirmed: {
    ackMs: "10 s is general knowledge",
    retries: "tries for 24 hours are general knowledge",
    redeliveryMs: "tries for 24 hours are general knowledge",
  },
});
