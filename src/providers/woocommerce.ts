import { bodyHmac } from "./body-hmac.ts";
import { defineProvider } from "./define-provider.ts";
import type { Provider } from "./provider.ts";
import { hour } from "./spans.ts";

/**
 * WooCommerce: HMAC-SHA256 over the body, under the secret with HTML's entities read. Its delivery id is shared by
 * deliveries of one second, so webhook, resource, time and content make the id. It never sends again. Its ping is an
 * unsigned form.
 *
 * Source: https://woocommerce.com/document/webhooks/
 */
export const woocommerce: Provider<"woocommerce"> = defineProvider({
  name: "woocommerce",
  title: "WooCommerce",
  docs: "https://woocommerce.com/document/webhooks/",
  schemes: [bodyHmac("x-wc-webhook-signature", { encoding: "base64", key: { from: "utf8", as: "html" } })],
  identity: {
    id: {
      from: "derived",
      parts: [
        { from: "header", name: "x-wc-webhook-id" },
        { from: "body", path: ["id"] },
        { from: "body", path: ["date_modified_gmt"] },
        { from: "digest" },
      ],
    },
    type: { from: "header", name: "x-wc-webhook-topic" },
  },
  ackMs: 60_000,
  retries: false,
  redeliveryMs: hour,
  handshake: { kind: "note", pattern: /^webhook_id=[0-9]+$/ },
  samples: { "order.updated": { id: 1042, status: "processing", date_modified_gmt: "2026-01-01T00:00:00" } },
  sampleHeaders: { "x-wc-webhook-source": "https://shop.example/" },
  unconfirmed: { identity: "that the type stands in X-WC-Webhook-Topic is general knowledge" },
});
