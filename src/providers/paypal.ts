import { defineProvider } from "./define-provider.ts";
import type { PaypalEvents } from "./paypal-events.ts";
import type { Provider } from "./provider.ts";
import { day } from "./spans.ts";

/**
 * PayPal: RSA with SHA-256 over transmission id, time, the webhook's id and the body's CRC-32, under a certificate
 * that is fetched from PayPal's own hosts; a connection's `authorities` says what it has to lead to as well. The webhook's id stands where other connections have a secret. A CRC-32
 * proves no body: whoever has one signature can make another body of the same. A transmission therefore counts for
 * one event, and what matters is to be fetched again.
 *
 * Source: https://developer.paypal.com/api/rest/webhooks/rest/
 */
export const paypal: Provider<"paypal", PaypalEvents> = defineProvider({
  name: "paypal",
  title: "PayPal",
  docs: "https://developer.paypal.com/api/rest/webhooks/rest/",
  schemes: [
    {
      kind: "rsa",
      padding: "pkcs1",
      headers: ["paypal-transmission-sig"],
      grammar: { kind: "single" },
      encoding: "base64",
      key: { from: "utf8" },
      signed: [
        { header: "paypal-transmission-id" },
        { literal: "|" },
        { header: "paypal-transmission-time" },
        { literal: "|" },
        "secret",
        { literal: "|" },
        "crc32",
      ],
      requires: { "paypal-auth-algo": "SHA256withRSA" },
      certificate: { urlHeader: "paypal-cert-url", hosts: ["paypal.com"] },
    },
  ],
  identity: {
    id: { from: "body", path: ["id"] },
    type: { from: "body", path: ["event_type"] },
    singleUse: { from: "header", name: "paypal-transmission-id" },
  },
  data: ["resource"],
  ackMs: 10_000,
  retries: true,
  redeliveryMs: 365 * day,
  samples: { "PAYMENT.CAPTURE.COMPLETED": { create_time: "2026-01-01T00:00:00Z", resource: { id: "CAPTURE1" } } },
  sampleHeaders: {
    "paypal-transmission-id": "00000000-0000-4000-8000-000000000001",
    "paypal-transmission-time": "2026-01-01T00:00:00Z",
    "paypal-cert-url": "https://api.paypal.com/v1/notifications/certs/CERT-sample",
  },
  unconfirmed: {
    ackMs: "no time limit for the answer is confirmed",
    redeliveryMs: "tries end after 3 days; a resend by hand has no stated end, a year is taken",
  },
  proof: "published vectors",
});
