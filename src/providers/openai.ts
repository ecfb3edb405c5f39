import { bodyHmac } from "./body-hmac.ts";
import { defineProvider } from "./define-provider.ts";
import type { Provider } from "./provider.ts";
import { day } from "./spans.ts";

const openaiScheme = bodyHmac("webhook-signature", {
  grammar: { kind: "versions", version: "v1" },
  encoding: "base64",
  key: { from: "base64", prefix: "whsec_", orText: true },
  signed: [{ header: "webhook-id" }, { literal: "." }, "timestamp", { literal: "." }, "body"],
  timestamp: { from: { header: "webhook-timestamp" }, unit: "s", pastMs: 300_000, futureMs: 300_000 },
});

/**
 * OpenAI: Standard Webhooks under a `whsec_` secret, or the text of one without. The id is signed and has to be
 * there, although OpenAI's own library does without.
 *
 * Source: https://platform.openai.com/docs/guides/webhooks
 */
export const openai: Provider<"openai"> = defineProvider({
  name: "openai",
  title: "OpenAI",
  docs: "https://platform.openai.com/docs/guides/webhooks",
  schemes: [openaiScheme],
  identity: { id: { from: "header", name: "webhook-id" }, type: { from: "body", path: ["type"] } },
  data: ["data"],
  ackMs: 10_000,
  retries: true,
  redeliveryMs: 4 * day,
  samples: {
    "response.completed": { id: "evt_sample", object: "event", created_at: 1_767_225_600, data: { id: "resp_1" } },
  },
  unconfirmed: {
    ackMs: "no time limit for the answer is confirmed",
    retries: "tries for 72 hours are general knowledge",
    redeliveryMs: "tries for 72 hours are general knowledge",
  },
  proof: "published vectors",
});
