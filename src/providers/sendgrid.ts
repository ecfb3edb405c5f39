import { defineProvider } from "./define-provider.ts";
import type { Provider } from "./provider.ts";
import { day, hour } from "./spans.ts";

/**
 * Twilio SendGrid's Event Webhook: ECDSA on P-256 over the timestamp and the body, whose last line break is signed
 * too. The secret is the public key. Events come in batches and are tried for 24 hours; nothing says that a retry is
 * signed anew, so a timestamp may be as old as that.
 *
 * Source: https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook-security-features
 */
export const sendgrid: Provider<"sendgrid"> = defineProvider({
  name: "sendgrid",
  title: "Twilio SendGrid",
  docs: "https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook-security-features",
  schemes: [
    {
      kind: "ecdsa",
      headers: ["x-twilio-email-event-webhook-signature"],
      grammar: { kind: "single" },
      encoding: "base64",
      key: { from: "spki" },
      signed: ["timestamp", "body"],
      timestamp: {
        from: { header: "x-twilio-email-event-webhook-timestamp" },
        unit: "s",
        pastMs: 25 * hour,
        futureMs: 300_000,
      },
    },
  ],
  batch: { path: [] },
  identity: { id: { from: "body", path: ["sg_event_id"] }, type: { from: "body", path: ["event"] } },
  ackMs: 10_000,
  retries: true,
  redeliveryMs: day,
  samples: { delivered: { email: "person@example.com", sg_message_id: "m.1", timestamp: 1_767_225_600 } },
  unconfirmed: {
    schemes: "SendGrid states no tolerance for its timestamp; 25 hours cover its retries",
    ackMs: "no time limit for the answer is confirmed",
  },
  proof: "published vectors",
});
