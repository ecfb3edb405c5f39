import { bodyHmac } from "./body-hmac.ts";
import { defineProvider } from "./define-provider.ts";
import type { Provider } from "./provider.ts";
import { day } from "./spans.ts";

/**
 * Vercel: HMAC-SHA1 over the body.
 *
 * Source: https://vercel.com/docs/webhooks/webhooks-api
 */
export const vercel: Provider<"vercel"> = defineProvider({
  name: "vercel",
  title: "Vercel",
  docs: "https://vercel.com/docs/webhooks/webhooks-api",
  schemes: [bodyHmac("x-vercel-signature", { hash: "sha1" })],
  identity: {
    id: { from: "body", path: ["id"] },
    type: { from: "body", path: ["type"] },
    account: [{ from: "body", path: ["payload", "team", "id"] }],
  },
  data: ["payload"],
  ackMs: 10_000,
  retries: true,
  redeliveryMs: day,
  samples: {
    "deployment.created": {
      createdAt: 1_767_225_600_000,
      payload: { team: { id: "team_1" }, deployment: { id: "dpl_1" } },
    },
  },
  unconfirmed: {
    ackMs: "no time limit for the answer is confirmed",
    retries: "tries for 24 hours are general knowledge",
    redeliveryMs: "tries for 24 hours are general knowledge",
  },
});
