import { bodyHmac } from "./body-hmac.ts";
import { defineProvider } from "./define-provider.ts";
import type { Provider } from "./provider.ts";
import { day } from "./spans.ts";

/**
 * WorkOS: HMAC-SHA256 over the timestamp, in milliseconds, and the body. The pairs of its header stand apart by a
 * comma and a space.
 *
 * Source: https://workos.com/docs/events/data-syncing/webhooks
 */
export const workos: Provider<"workos"> = defineProvider({
  name: "workos",
  title: "WorkOS",
  docs: "https://workos.com/docs/events/data-syncing/webhooks",
  schemes: [
    bodyHmac("workos-signature", {
      grammar: { kind: "pairs", separator: ", ", signature: "v1" },
      signed: ["timestamp", { literal: "." }, "body"],
      timestamp: { from: { pair: "t" }, unit: "ms", pastMs: 180_000, futureMs: 180_000 },
    }),
  ],
  identity: { id: { from: "body", path: ["id"] }, type: { from: "body", path: ["event"] } },
  data: ["data"],
  ackMs: 10_000,
  retries: true,
  redeliveryMs: 4 * day,
  samples: { "dsync.user.created": { created_at: "2026-01-01T00:00:00.000Z", data: { id: "directory_user_1" } } },
  unconfirmed: {
    ackMs: "no time limit for the answer is confirmed",
    retries: "6 tries over 3 days are general knowledge",
    redeliveryMs: "6 tries over 3 days are general knowledge",
  },
  proof: "the provider's SDK",
});
