import { defineProvider } from "./define-provider.ts";
import type { Provider } from "./provider.ts";
import { day, hour } from "./spans.ts";

/**
 * Mailgun: HMAC-SHA256 over a timestamp and a random token in the body. The event itself is not signed: one captured
 * signature fits any body. A token therefore counts for one event, and what is costly is to be fetched. Mailgun
 * sends again after any answer but 200 and 406.
 *
 * Source: https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/
 */
export const mailgun: Provider<"mailgun"> = defineProvider({
  name: "mailgun",
  title: "Mailgun",
  docs: "https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/",
  schemes: [
    {
      kind: "fields",
      hash: "sha256",
      encoding: "hex",
      key: { from: "utf8" },
      signature: ["signature", "signature"],
      signed: [{ field: ["signature", "timestamp"] }, { field: ["signature", "token"] }],
      timestamp: { from: { body: ["signature", "timestamp"] }, unit: "s", pastMs: 9 * hour, futureMs: 300_000 },
    },
  ],
  identity: {
    id: { from: "body", path: ["event-data", "id"] },
    type: { from: "body", path: ["event-data", "event"] },
    singleUse: { from: "body", path: ["signature", "token"] },
  },
  data: ["event-data"],
  volatile: [["signature"]],
  ackMs: 10_000,
  retries: true,
  redeliveryMs: day,
  answers: { open: 200 },
  samples: {
    delivered: {
      signature: { timestamp: "1767225600", token: "a-sample-token-of-fifty-characters-as-mailgun-has-it" },
      "event-data": { timestamp: 1_767_225_600.5, recipient: "person@example.com" },
    },
  },
  unconfirmed: {
    schemes: "the tolerance is yours to choose; 9 hours cover the retries, if those are not signed anew",
    ackMs: "no time limit for the answer is confirmed",
  },
});
