import { bodyHmac } from "./body-hmac.ts";
import { defineProvider } from "./define-provider.ts";
import type { Provider } from "./provider.ts";
import { day } from "./spans.ts";

const quickbooksUnconfirmed = {
  schemes: "the whole scheme is general knowledge",
  identity: "the whole format is general knowledge",
  ackMs: "3 s is general knowledge",
  retries: "tries after 20, 30 and 50 minutes are general knowledge",
  redeliveryMs: "no document says how long tries go on",
} as const;

/**
 * QuickBooks Online, its notifications until now: HMAC-SHA256 over the body. One event for each company in the batch,
 * which names its changed entities. Nothing here was confirmed at the source.
 *
 * Source: https://developer.intuit.com/app/developer/qbo/docs/develop/webhooks
 */
export const quickbooks: Provider<"quickbooks"> = defineProvider({
  name: "quickbooks",
  title: "QuickBooks Online",
  docs: "https://developer.intuit.com/app/developer/qbo/docs/develop/webhooks",
  schemes: [bodyHmac("intuit-signature", { encoding: "base64" })],
  batch: { path: ["eventNotifications"] },
  identity: {
    id: { from: "derived", parts: [{ from: "body", path: ["realmId"] }, { from: "digest" }] },
    type: { from: "fixed", text: "dataChangeEvent" },
    account: [{ from: "body", path: ["realmId"] }],
  },
  data: ["dataChangeEvent"],
  ackMs: 3_000,
  retries: true,
  redeliveryMs: day,
  answers: { open: 200 },
  samples: {
    dataChangeEvent: {
      realmId: "1",
      dataChangeEvent: {
        entities: [{ name: "Customer", id: "1", operation: "Update", lastUpdated: "2026-01-01T00:00:00.000Z" }],
      },
    },
  },
  unconfirmed: quickbooksUnconfirmed,
});

/**
 * QuickBooks Online in the format of CloudEvents: signed like its notifications, one event for each item.
 *
 * Source: https://developer.intuit.com/app/developer/qbo/docs/develop/webhooks
 */
export const quickbooksEvents: Provider<"quickbooks-events"> = defineProvider({
  name: "quickbooks-events",
  title: "QuickBooks Online (CloudEvents)",
  docs: "https://developer.intuit.com/app/developer/qbo/docs/develop/webhooks",
  schemes: [bodyHmac("intuit-signature", { encoding: "base64" })],
  batch: { path: [] },
  identity: {
    id: { from: "body", path: ["id"] },
    type: { from: "body", path: ["type"] },
    account: [{ from: "body", path: ["intuitaccountid"] }],
  },
  data: ["data"],
  ackMs: 3_000,
  retries: true,
  redeliveryMs: day,
  answers: { open: 200 },
  samples: { "qbo.customer.updated.v1": { specversion: "1.0", intuitaccountid: "1", data: {} } },
  unconfirmed: quickbooksUnconfirmed,
});
