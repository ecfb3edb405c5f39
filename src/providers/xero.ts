import { bodyHmac } from "./body-hmac.ts";
import { defineProvider } from "./define-provider.ts";
import type { Provider } from "./provider.ts";
import { day } from "./spans.ts";

/**
 * Xero: HMAC-SHA256 over the body, under the webhook key's text. Its "intent to receive" is an empty batch, signed
 * right and wrong: 200 and 401, with an empty body. Events have no id.
 *
 * Source: https://developer.xero.com/documentation/guides/webhooks/overview/
 */
export const xero: Provider<"xero"> = defineProvider({
  name: "xero",
  title: "Xero",
  docs: "https://developer.xero.com/documentation/guides/webhooks/overview/",
  schemes: [bodyHmac("x-xero-signature", { encoding: "base64" })],
  batch: { path: ["events"] },
  identity: {
    id: {
      from: "derived",
      parts: [
        { from: "body", path: ["tenantId"] },
        { from: "body", path: ["resourceId"] },
        { from: "body", path: ["eventType"] },
        { from: "body", path: ["eventDateUtc"] },
      ],
    },
    type: {
      from: "joined",
      by: ".",
      of: [
        { from: "body", path: ["eventCategory"] },
        { from: "body", path: ["eventType"] },
      ],
    },
    account: [{ from: "body", path: ["tenantId"] }],
  },
  ackMs: 5_000,
  retries: true,
  redeliveryMs: day,
  answers: { open: 200 },
  answerText: "",
  samples: {
    "INVOICE.UPDATE": {
      tenantId: "tenant-1",
      resourceId: "resource-1",
      eventCategory: "INVOICE",
      eventType: "UPDATE",
      eventDateUtc: "2026-01-01T00:00:00.000",
    },
  },
  sampleEnvelope: { firstEventSequence: 1, lastEventSequence: 1 },
  unconfirmed: {
    identity: "that eventCategory names the kind of resource is general knowledge",
    ackMs: "5 s is general knowledge",
    retries: "tries for 24 hours are general knowledge",
    redeliveryMs: "tries for 24 hours are general knowledge",
  },
});
