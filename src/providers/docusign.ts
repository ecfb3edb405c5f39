import { bodyHmac } from "./body-hmac.ts";
import { defineProvider } from "./define-provider.ts";
import type { Provider } from "./provider.ts";
import { day } from "./spans.ts";

const signatureHeaders = [
  "x-docusign-signature-1",
  "x-docusign-signature-2",
  "x-docusign-signature-3",
  "x-docusign-signature-4",
  "x-docusign-signature-5",
] as const;

/**
 * DocuSign Connect: HMAC-SHA256 over the body, one header for each active key. Events have no id.
 *
 * Source: https://developers.docusign.com/platform/webhooks/connect/hmac/
 */
export const docusign: Provider<"docusign"> = defineProvider({
  name: "docusign",
  title: "DocuSign Connect",
  docs: "https://developers.docusign.com/platform/webhooks/connect/hmac/",
  schemes: [bodyHmac(signatureHeaders, { encoding: "base64" })],
  identity: {
    id: {
      from: "derived",
      parts: [
        { from: "body", path: ["data", "envelopeId"] },
        { from: "body", path: ["event"] },
        { from: "body", path: ["generatedDateTime"] },
      ],
    },
    type: { from: "body", path: ["event"] },
    account: [{ from: "body", path: ["data", "accountId"] }],
  },
  data: ["data"],
  volatile: [["retryCount"]],
  ackMs: 100_000,
  retries: true,
  redeliveryMs: 30 * day,
  samples: {
    "envelope-completed": {
      retryCount: 0,
      generatedDateTime: "2026-01-01T00:00:00.0000000Z",
      data: { accountId: "account-1", envelopeId: "envelope-1" },
    },
  },
  unconfirmed: {
    schemes: "the headers after the first are general knowledge",
    identity: "that envelope, event and generatedDateTime tell events apart is general knowledge",
    ackMs: "100 s is general knowledge",
    retries: "tries for 15 days are general knowledge",
    redeliveryMs: "tries for 15 days are general knowledge; failed ones can be published again by hand",
  },
});
