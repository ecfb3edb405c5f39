import { bodyHmac } from "./body-hmac.ts";
import { defineProvider } from "./define-provider.ts";
import type { Provider } from "./provider.ts";
import { day } from "./spans.ts";

/**
 * Jira Cloud: HMAC-SHA256 over the body for webhooks that an administrator made with a secret. Others are unsigned
 * and are refused. The id stays the same on a retry, in a header that no signature covers.
 *
 * Source: https://developer.atlassian.com/cloud/jira/platform/webhooks/
 */
export const jira: Provider<"jira"> = defineProvider({
  name: "jira",
  title: "Jira Cloud",
  docs: "https://developer.atlassian.com/cloud/jira/platform/webhooks/",
  schemes: [bodyHmac("x-hub-signature", { prefix: "sha256=" })],
  identity: {
    id: { from: "header", name: "x-atlassian-webhook-identifier" },
    type: { from: "body", path: ["webhookEvent"] },
  },
  ackMs: 10_000,
  retries: true,
  redeliveryMs: day,
  answers: { open: 200 },
  samples: { "jira:issue_updated": { timestamp: 1_767_225_600_000, issue: { id: "10001", key: "SAMPLE-1" } } },
  unconfirmed: {
    schemes: "sources differ on which webhooks are signed",
    identity: "that the type stands in webhookEvent is general knowledge",
    ackMs: "no time limit for the answer is confirmed",
    retries: "up to five tries are general knowledge",
    redeliveryMs: "no document says how long tries go on",
  },
});
