import { bodyHmac } from "./body-hmac.ts";
import { defineProvider } from "./define-provider.ts";
import type { Provider } from "./provider.ts";
import { day } from "./spans.ts";

/**
 * Box: HMAC-SHA256 over the body and the timestamp, in two headers for two keys, one of which is renewed at a time.
 *
 * Source: https://developer.box.com/guides/webhooks/v2/signatures-v2/
 */
export const box: Provider<"box"> = defineProvider({
  name: "box",
  title: "Box",
  docs: "https://developer.box.com/guides/webhooks/v2/signatures-v2/",
  schemes: [
    bodyHmac(["box-signature-primary", "box-signature-secondary"], {
      encoding: "base64",
      requires: { "box-signature-version": "1", "box-signature-algorithm": "HmacSHA256" },
      signed: ["body", "timestamp"],
      timestamp: { from: { header: "box-delivery-timestamp" }, unit: "rfc3339", pastMs: 600_000, futureMs: 600_000 },
    }),
  ],
  identity: { id: { from: "body", path: ["id"] }, type: { from: "body", path: ["trigger"] } },
  ackMs: 10_000,
  retries: false,
  redeliveryMs: day,
  samples: { "FILE.UPLOADED": { type: "webhook_event", webhook: { id: "1" }, source: { id: "2", type: "file" } } },
  unconfirmed: {
    identity: "that the body's id tells events apart is general knowledge",
    ackMs: "no time limit for the answer is confirmed",
    retries: "no document was seen that says whether it tries again",
    redeliveryMs: "no document says how long tries go on",
  },
  proof: "published vectors",
});
