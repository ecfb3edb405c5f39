import { bodyHmac } from "./body-hmac.ts";
import { defineProvider } from "./define-provider.ts";
import type { Provider } from "./provider.ts";
import { day } from "./spans.ts";

/**
 * Bitbucket Cloud: HMAC-SHA256 over the body, in `X-Hub-Signature`, which elsewhere carries SHA-1. Id and type
 * travel in headers that no signature covers.
 *
 * Source: https://support.atlassian.com/bitbucket-cloud/docs/manage-webhooks/
 */
export const bitbucket: Provider<"bitbucket"> = defineProvider({
  name: "bitbucket",
  title: "Bitbucket Cloud",
  docs: "https://support.atlassian.com/bitbucket-cloud/docs/manage-webhooks/",
  schemes: [bodyHmac("x-hub-signature", { prefix: "sha256=" })],
  identity: {
    id: { from: "header", name: "x-request-uuid" },
    type: { from: "header", name: "x-event-key" },
    account: [{ from: "body", path: ["repository", "uuid"] }],
  },
  ackMs: 10_000,
  retries: true,
  redeliveryMs: day,
  samples: { "repo:push": { push: { changes: [] }, repository: { uuid: "{repository-1}" } } },
  unconfirmed: {
    identity: "whether X-Request-UUID stays the same on a retry, and that the type stands in X-Event-Key",
    ackMs: "10 s is general knowledge",
    retries: "two more tries after 5xx or a timeout are general knowledge",
    redeliveryMs: "no document says how long tries go on",
  },
});
