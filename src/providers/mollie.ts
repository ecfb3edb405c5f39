import { bodyHmac } from "./body-hmac.ts";
import { defineProvider } from "./define-provider.ts";
import type { Provider } from "./provider.ts";
import { day } from "./spans.ts";

/**
 * Mollie's webhooks of today: HMAC-SHA256 over the body, with or without `sha256=` before it.
 *
 * Source: https://docs.mollie.com/reference/webhooks-new
 */
export const mollie: Provider<"mollie"> = defineProvider({
  name: "mollie",
  title: "Mollie",
  docs: "https://docs.mollie.com/reference/webhooks-new",
  schemes: [bodyHmac("x-mollie-signature", { prefix: "sha256=" }), bodyHmac("x-mollie-signature")],
  identity: { id: { from: "body", path: ["id"] }, type: { from: "body", path: ["type"] } },
  ackMs: 15_000,
  retries: true,
  redeliveryMs: 2 * day,
  answers: { open: 200 },
  samples: { "payment-link.paid": { resource: "event", entityId: "pl_1" } },
  unconfirmed: {
    identity: "that the type stands in type is general knowledge",
    ackMs: "15 s is general knowledge",
    retries: "10 tries over 26 hours are general knowledge",
    redeliveryMs: "10 tries over 26 hours are general knowledge",
  },
});

/**
 * Mollie's classic webhooks: nothing is signed, and a form says only which resource changed. Give Mollie a URL that
 * ends in `?token=` and a secret of your own; fetch the resource, since a next change has the same body.
 *
 * Source: https://docs.mollie.com/reference/webhooks
 */
export const mollieClassic: Provider<"mollie-classic"> = defineProvider({
  name: "mollie-classic",
  title: "Mollie (classic)",
  docs: "https://docs.mollie.com/reference/webhooks",
  schemes: [{ kind: "token", query: "token" }],
  identity: { id: { from: "arrival" }, type: { from: "fixed", text: "changed" } },
  contentTypes: ["application/x-www-form-urlencoded"],
  ackMs: 15_000,
  retries: true,
  redeliveryMs: 2 * day,
  answers: { open: 200 },
  samples: { changed: { id: "tr_sample" } },
  unconfirmed: {
    ackMs: "15 s is general knowledge",
    retries: "10 tries over 26 hours are general knowledge",
    redeliveryMs: "10 tries over 26 hours are general knowledge",
  },
});
