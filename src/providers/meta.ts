import { bodyHmac } from "./body-hmac.ts";
import { defineProvider } from "./define-provider.ts";
import type { Provider } from "./provider.ts";
import { day } from "./spans.ts";

/**
 * Meta, with WhatsApp: HMAC-SHA256 over the body under the app secret. Entries come in batches, and each has a batch of
 * changes: an event is one change in its entry. Changes have no id, so their content tells them apart. Set
 * `handshake.token` to the verify token.
 *
 * Source: https://developers.facebook.com/docs/graph-api/webhooks/getting-started
 */
export const meta: Provider<"meta"> = defineProvider({
  name: "meta",
  title: "Meta and WhatsApp",
  docs: "https://developers.facebook.com/docs/graph-api/webhooks/getting-started",
  schemes: [bodyHmac("x-hub-signature-256", { prefix: "sha256=" })],
  batch: { path: ["entry"], within: ["changes"] },
  identity: {
    id: { from: "derived", parts: [{ from: "body", path: ["id"] }, { from: "digest" }] },
    type: {
      from: "first",
      of: [
        { from: "body", path: ["changes", 0, "field"] },
        { from: "fixed", text: "entry" },
      ],
    },
    account: [{ from: "body", path: ["id"] }],
  },
  ackMs: 10_000,
  retries: true,
  redeliveryMs: 7 * day,
  answers: { open: 200 },
  handshake: { kind: "challenge", challengeParam: "hub.challenge", tokenParam: "hub.verify_token" },
  samples: {
    messages: {
      id: "waba1",
      changes: [
        {
          field: "messages",
          value: { metadata: { phone_number_id: "1" }, messages: [{ id: "wamid.1", type: "text" }] },
        },
      ],
    },
  },
  sampleEnvelope: { object: "whatsapp_business_account" },
  unconfirmed: {
    identity: "that a retry has the same changes is not documented; ids of messages stand within them",
    ackMs: "no time limit for the answer is confirmed",
  },
});
