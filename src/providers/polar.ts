import { defineProvider } from "./define-provider.ts";
import type { Provider } from "./provider.ts";
import { day } from "./spans.ts";
import { standardWebhooksSchemes } from "./standard-webhooks.ts";

/**
 * Polar: Standard Webhooks under the text of the whole secret, whatever its base64 holds. A webhook is switched off
 * after ten deliveries in a row that were not accepted.
 *
 * Source: https://polar.sh/docs/integrate/webhooks/delivery
 */
export const polar: Provider<"polar"> = defineProvider({
  name: "polar",
  title: "Polar",
  docs: "https://polar.sh/docs/integrate/webhooks/delivery",
  schemes: standardWebhooksSchemes({ key: "text" }),
  identity: { id: { from: "header", name: "webhook-id" }, type: { from: "body", path: ["type"] } },
  data: ["data"],
  ackMs: 10_000,
  retries: true,
  redeliveryMs: 30 * day,
  samples: { "order.paid": { timestamp: "2026-01-01T00:00:00Z", data: { id: "order_1" } } },
  unconfirmed: { redeliveryMs: "a redelivery by hand has no stated end, 30 days are taken" },
  proof: "the provider's SDK",
});
