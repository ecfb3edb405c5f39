import type { HmacScheme, SignedPart } from "../verify/scheme.ts";
import { bodyHmac } from "./body-hmac.ts";
import { defineProvider } from "./define-provider.ts";
import type { Provider } from "./provider.ts";
import { day } from "./spans.ts";

function twilioScheme(hash: "sha1" | "sha256", url: SignedPart): HmacScheme {
  const signed = [url, { form: { orBodyHashParam: "bodySHA256" } }] as const;
  return bodyHmac("x-twilio-signature", { hash, encoding: "base64", signed });
}

/**
 * Twilio: HMAC over the public URL and each name and value of the form, sorted; of a JSON body the URL carries the
 * SHA-256. SHA-1 under the account's Auth Token, or SHA-256 under a shared key. The URL counts as Twilio was given
 * it; with or without its port, since Twilio signs either. Names and values are signed without a mark between them.
 *
 * Source: https://www.twilio.com/docs/usage/webhooks/webhooks-security
 */
export const twilio: Provider<"twilio"> = defineProvider({
  name: "twilio",
  title: "Twilio",
  docs: "https://www.twilio.com/docs/usage/webhooks/webhooks-security",
  schemes: [
    twilioScheme("sha1", "url"),
    twilioScheme("sha1", { url: "without_port" }),
    twilioScheme("sha1", { url: "with_port" }),
    twilioScheme("sha256", "url"),
    twilioScheme("sha256", { url: "without_port" }),
    twilioScheme("sha256", { url: "with_port" }),
  ],
  identity: {
    id: {
      from: "derived",
      parts: [
        { from: "body", path: ["MessageSid"] },
        { from: "body", path: ["MessageStatus"] },
        { from: "body", path: ["CallSid"] },
        { from: "body", path: ["CallStatus"] },
        { from: "header", name: "i-twilio-idempotency-token" },
      ],
    },
    type: {
      from: "first",
      of: [
        { from: "body", path: ["MessageStatus"] },
        { from: "body", path: ["CallStatus"] },
        { from: "fixed", text: "request" },
      ],
    },
    account: [{ from: "body", path: ["AccountSid"] }],
  },
  contentTypes: ["application/x-www-form-urlencoded", "application/json"],
  ackMs: 15_000,
  retries: false,
  redeliveryMs: day,
  samples: { delivered: { AccountSid: "AC1", MessageSid: "SM1", MessageStatus: "delivered" } },
  unconfirmed: {
    ackMs: "15 s is general knowledge",
    retries: "that only a failed connection is tried again by default is general knowledge",
    redeliveryMs: "no document says how long tries go on",
  },
  proof: "published vectors",
});
