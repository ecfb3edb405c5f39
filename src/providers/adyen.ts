import { bodyHmac } from "./body-hmac.ts";
import { defineProvider } from "./define-provider.ts";
import type { Provider } from "./provider.ts";
import { day } from "./spans.ts";

/** What each item of a payment webhook is wrapped in. */
const item = "NotificationRequestItem";

/**
 * Adyen's payment webhooks: HMAC-SHA256 over eight fields of each item, in the item itself, joined by colons and
 * not escaped. Nothing else is signed: reason, eventDate, paymentMethod, additionalData and live may be anybody's
 * word. The key is hex. Adyen wants `[accepted]` for an answer.
 *
 * Source: https://docs.adyen.com/development-resources/webhooks/verify-hmac-signatures
 */
export const adyen: Provider<"adyen"> = defineProvider({
  name: "adyen",
  title: "Adyen payments",
  docs: "https://docs.adyen.com/development-resources/webhooks/verify-hmac-signatures",
  schemes: [
    {
      kind: "fields",
      hash: "sha256",
      encoding: "base64",
      key: { from: "hex" },
      each: ["notificationItems"],
      signature: [item, "additionalData", "hmacSignature"],
      signed: [
        { field: [item, "pspReference"] },
        { literal: ":" },
        { field: [item, "originalReference"] },
        { literal: ":" },
        { field: [item, "merchantAccountCode"] },
        { literal: ":" },
        { field: [item, "merchantReference"] },
        { literal: ":" },
        { field: [item, "amount", "value"] },
        { literal: ":" },
        { field: [item, "amount", "currency"] },
        { literal: ":" },
        { field: [item, "eventCode"] },
        { literal: ":" },
        { field: [item, "success"] },
      ],
    },
  ],
  batch: { path: ["notificationItems"] },
  identity: {
    id: {
      from: "derived",
      parts: [
        { from: "body", path: [item, "pspReference"] },
        { from: "body", path: [item, "eventCode"] },
        { from: "body", path: [item, "success"] },
      ],
    },
    type: { from: "body", path: [item, "eventCode"] },
    account: [{ from: "body", path: [item, "merchantAccountCode"] }],
  },
  data: [item],
  ackMs: 10_000,
  retries: true,
  redeliveryMs: 30 * day,
  answers: { open: 200 },
  answerText: "[accepted]",
  samples: {
    AUTHORISATION: {
      [item]: {
        pspReference: "PSP0000000000001",
        merchantAccountCode: "SampleMerchant",
        merchantReference: "order-1042",
        amount: { currency: "EUR", value: 4_200 },
        eventCode: "AUTHORISATION",
        eventDate: "2026-01-01T00:00:00+00:00",
        success: "true",
      },
    },
  },
  sampleEnvelope: { live: "false" },
  unconfirmed: {
    identity: "Adyen sends no id; that pspReference, eventCode and success tell events apart is general knowledge",
    ackMs: "10 s is general knowledge",
    redeliveryMs: "7 to 30 days are general knowledge",
  },
  proof: "published vectors",
});

/**
 * Adyen's banking, management and tokenization webhooks: HMAC-SHA256 over the body, in a header, under a hex key.
 *
 * Source: https://docs.adyen.com/development-resources/webhooks/verify-hmac-signatures
 */
export const adyenPlatform: Provider<"adyen-platform"> = defineProvider({
  name: "adyen-platform",
  title: "Adyen platform",
  docs: "https://docs.adyen.com/development-resources/webhooks/verify-hmac-signatures",
  schemes: [bodyHmac("hmacsignature", { encoding: "base64", key: { from: "hex" } })],
  identity: {
    id: {
      from: "first",
      of: [
        { from: "body", path: ["eventId"] },
        { from: "body", path: ["data", "webhookId"] },
        { from: "body", path: ["id"] },
      ],
    },
    type: { from: "body", path: ["type"] },
  },
  data: ["data"],
  ackMs: 10_000,
  retries: true,
  redeliveryMs: 30 * day,
  answers: { open: 200 },
  answerText: "[accepted]",
  samples: { "balancePlatform.transfer.updated": { data: { balancePlatform: "SamplePlatform", id: "TRANSFER1" } } },
  proof: "the provider's SDK",
  unconfirmed: {
    identity: "where the id stands differs between webhooks; set identity for yours",
    ackMs: "10 s is general knowledge",
    redeliveryMs: "7 to 30 days are general knowledge",
  },
});
