import { bodyHmac } from "./body-hmac.ts";
import { defineProvider } from "./define-provider.ts";
import type { Provider } from "./provider.ts";
import { day } from "./spans.ts";

/**
 * EasyPost: HMAC-SHA256 over the body, under the secret in Unicode's form NFKD.
 *
 * Source: https://docs.easypost.com/guides/webhooks-guide
 */
export const easypost: Provider<"easypost"> = defineProvider({
  name: "easypost",
  title: "EasyPost",
  docs: "https://docs.easypost.com/guides/webhooks-guide",
  schemes: [bodyHmac("x-hmac-signature", { prefix: "hmac-sha256-hex=", key: { from: "utf8", as: "nfkd" } })],
  identity: {
    id: { from: "body", path: ["id"] },
    type: { from: "body", path: ["description"] },
    mode: { path: ["mode"], live: "production", test: "test" },
  },
  data: ["result"],
  ackMs: 10_000,
  retries: false,
  redeliveryMs: day,
  samples: {
    "tracker.updated": {
      mode: "production",
      object: "Event",
      result: { id: "trk_1", object: "Tracker", status: "in_transit" },
    },
  },
  unconfirmed: {
    identity: "that mode says test for test events is general knowledge",
    ackMs: "no time limit for the answer is confirmed",
    retries: "no document was seen that says whether it tries again",
    redeliveryMs: "no document says how long tries go on",
  },
  proof: "published vectors",
});
