import { bodyHmac } from "./body-hmac.ts";
import { defineProvider } from "./define-provider.ts";
import type { Provider } from "./provider.ts";
import { day } from "./spans.ts";

/** The one entity of an item. */
const entity = ["dataChangeEvent", "entities", 0] as const;

const quickbooksUnconfirmed = {
  schemes: "the whole scheme is general knowledge",
  identity: "the whole format is general knowledge",
  ackMs: "3 s is general knowledge",
  retries: "tries after 20, 30 and 50 minutes are general knowledge",
  redeliveryMs: "no document says how long tries go on",
} as const;

/**
 * QuickBooks Online, its notifications until now: HMAC-SHA256 over the body. The batch names companies, and each
 * its changed entities: one event for each of these. Nothing here was confirmed at the source.
 *
 * Source: https://developer.intuit.com/app/developer/qbo/docs/develop/webhooks
 */
export const quickbooks: Provider<"quickbooks"> = defineProvider({
  name: "quickbooks",
  title: "QuickBooks Online",
  docs: "https://developer.intuit.com/app/developer/qbo/docs/develop/webhooks",
  schemes: [bodyHmac("intuit-signature", { encoding: "base64" })],
  batch: { path: ["eventNotifications"], within: ["dataChangeEvent", "entities"] },
  identity: {
    id: {
      from: "derived",
      parts: [
        { from: "body", path: ["realmId"] },
        { from: "body", path: [...entity, "name"] },
        { from: "body", path: [...entity, "id"] },
        { from: "body", path: [...entity, "operation"] },
        { from: "body", path: [...entity, "lastUpdated"] },
      ],
    },
    type: {
      from: "joined",
      by: ".",
      of: [
        { from: "body", path: [...entity, "name"] },
        { from: "body", path: [...entity, "operation"] },
      ],
    },
    account: [{ from: "body", path: ["realmId"] }],
  },
  data: entity,
  ackMs: 3_000,
  retries: true,
  redeliveryMs: day,
  answers: { open: 200 },
  samples: {
    "Customer.Update": {
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
