import { bodyHmac } from "./body-hmac.ts";
import { defineProvider } from "./define-provider.ts";
import type { Provider } from "./provider.ts";
import type { ShopifyEvents } from "./shopify-events.ts";
import { hour } from "./spans.ts";

/**
 * Shopify: HMAC-SHA256 over the body under the app's client secret, one for all shops. Topic, event id and shop
 * travel in headers that no signature covers. Several subscriptions give one event several webhooks with the same
 * event id, so the topic is a part of the id here. A retry carries the original payload.
 *
 * Source: https://shopify.dev/docs/apps/build/webhooks
 */
export const shopify: Provider<"shopify", ShopifyEvents> = defineProvider({
  name: "shopify",
  title: "Shopify",
  docs: "https://shopify.dev/docs/apps/build/webhooks",
  schemes: [bodyHmac(["x-shopify-hmac-sha256", "shopify-hmac-sha256"], { encoding: "base64" })],
  identity: {
    id: {
      from: "derived",
      parts: [
        { from: "header", name: "x-shopify-event-id" },
        { from: "header", name: "x-shopify-topic" },
      ],
    },
    type: { from: "header", name: "x-shopify-topic" },
  },
  ackMs: 5_000,
  retries: true,
  redeliveryMs: 4 * hour,
  samples: { "orders/create": { id: 1, total_price: "42.00", updated_at: "2026-01-01T00:00:00Z" } },
  sampleHeaders: { "x-shopify-shop-domain": "sample.myshopify.com", "x-shopify-webhook-id": "1" },
  proof: "published vectors",
});
