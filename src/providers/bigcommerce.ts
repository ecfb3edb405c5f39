import { defineProvider } from "./define-provider.ts";
import type { Provider } from "./provider.ts";
import { day } from "./spans.ts";
import { standardWebhooksSchemes } from "./standard-webhooks.ts";

/**
 * BigCommerce: Standard Webhooks under the text of the app's client secret. Bodies are thin; what changed is to be
 * fetched. A hook that fires twice for one event has the same `hash` in both bodies.
 *
 * Source: https://developer.bigcommerce.com/docs/integrations/webhooks
 */
export const bigcommerce: Provider<"bigcommerce"> = defineProvider({
  name: "bigcommerce",
  title: "BigCommerce",
  docs: "https://developer.bigcommerce.com/docs/integrations/webhooks",
  schemes: standardWebhooksSchemes({ key: "text" }),
  identity: {
    id: { from: "header", name: "webhook-id" },
    type: { from: "body", path: ["scope"] },
    account: [{ from: "body", path: ["producer"] }],
  },
  data: ["data"],
  ackMs: 10_000,
  retries: true,
  redeliveryMs: 3 * day,
  samples: {
    "store/order/updated": {
      producer: "stores/sample",
      store_id: "1",
      hash: "0a1b2c",
      created_at: 1_767_225_600,
      data: { type: "order", id: 250 },
    },
  },
  unconfirmed: {
    identity: "that the type stands in scope is general knowledge",
    ackMs: "no time limit for the answer is confirmed",
  },
});
