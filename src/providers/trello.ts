import { bodyHmac } from "./body-hmac.ts";
import { defineProvider } from "./define-provider.ts";
import type { Provider } from "./provider.ts";
import { hour } from "./spans.ts";

/**
 * Trello: HMAC-SHA1 over the body and the callback URL as it was registered, under the application's secret. A HEAD
 * without a body asks whether somebody is there.
 *
 * Source: https://developer.atlassian.com/cloud/trello/guides/rest-api/webhooks/
 */
export const trello: Provider<"trello"> = defineProvider({
  name: "trello",
  title: "Trello",
  docs: "https://developer.atlassian.com/cloud/trello/guides/rest-api/webhooks/",
  schemes: [bodyHmac("x-trello-webhook", { hash: "sha1", encoding: "base64", signed: ["body", "url"] })],
  identity: {
    id: { from: "body", path: ["action", "id"] },
    type: { from: "body", path: ["action", "type"] },
    account: [{ from: "body", path: ["model", "id"] }],
  },
  ackMs: 10_000,
  retries: true,
  redeliveryMs: hour,
  answers: { open: 200 },
  handshake: { kind: "presence", method: "HEAD" },
  samples: {
    updateCard: { action: { type: "updateCard", date: "2026-01-01T00:00:00.000Z" }, model: { id: "board1" } },
  },
  unconfirmed: {
    ackMs: "no time limit for the answer is confirmed",
    retries: "tries after 30, 60 and 120 s are general knowledge",
    redeliveryMs: "tries after 30, 60 and 120 s are general knowledge",
  },
});
