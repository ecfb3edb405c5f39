import { bodyHmac } from "./body-hmac.ts";
import { defineProvider } from "./define-provider.ts";
import type { Provider } from "./provider.ts";
import { day } from "./spans.ts";

/**
 * HubSpot's signature v3: HMAC-SHA256 over method, public URL, body and timestamp. Events come in batches. HubSpot
 * calls its eventId "not guaranteed to be unique", so several fields make the id; the attempt's number is none of them.
 *
 * Source: https://developers.hubspot.com/docs/guides/apps/authentication/validating-requests
 */
export const hubspot: Provider<"hubspot"> = defineProvider({
  name: "hubspot",
  title: "HubSpot",
  docs: "https://developers.hubspot.com/docs/guides/apps/authentication/validating-requests",
  schemes: [
    bodyHmac("x-hubspot-signature-v3", {
      encoding: "base64",
      signed: ["method", "url", "body", "timestamp"],
      timestamp: { from: { header: "x-hubspot-request-timestamp" }, unit: "ms", pastMs: 300_000, futureMs: 300_000 },
    }),
  ],
  batch: { path: [] },
  identity: {
    id: {
      from: "derived",
      parts: [
        { from: "body", path: ["portalId"] },
        { from: "body", path: ["subscriptionId"] },
        { from: "body", path: ["subscriptionType"] },
        { from: "body", path: ["objectId"] },
        { from: "body", path: ["eventId"] },
        { from: "body", path: ["occurredAt"] },
      ],
    },
    type: { from: "body", path: ["subscriptionType"] },
    account: [{ from: "body", path: ["portalId"] }],
  },
  volatile: [["attemptNumber"]],
  ackMs: 5_000,
  retries: true,
  redeliveryMs: day,
  samples: {
    "contact.creation": {
      eventId: 1,
      subscriptionId: 12_345,
      portalId: 62_515,
      occurredAt: 1_767_225_600_000,
      subscriptionType: "contact.creation",
      attemptNumber: 0,
      objectId: 123,
    },
  },
  unconfirmed: {
    schemes: "the tolerance of 5 minutes, and that some characters of the URL are decoded before it is signed",
  },
  proof: "the provider's SDK",
});
