import { bodyHmac } from "./body-hmac.ts";
import { defineProvider } from "./define-provider.ts";
import type { Provider } from "./provider.ts";
import { day } from "./spans.ts";

/**
 * LINE: HMAC-SHA256 over the body under the channel secret. Events come in batches; an empty one is LINE's own check of
 * the URL. LINE waits a second or two: lower the limits `queueMs` or `lockMs` for it.
 *
 * Source: https://developers.line.biz/en/reference/messaging-api/
 */
export const line: Provider<"line"> = defineProvider({
  name: "line",
  title: "LINE",
  docs: "https://developers.line.biz/en/reference/messaging-api/",
  schemes: [bodyHmac("x-line-signature", { encoding: "base64" })],
  batch: { path: ["events"] },
  identity: { id: { from: "body", path: ["webhookEventId"] }, type: { from: "body", path: ["type"] } },
  volatile: [["deliveryContext", "isRedelivery"]],
  ackMs: 2_000,
  retries: false,
  redeliveryMs: day,
  samples: {
    message: {
      timestamp: 1_767_225_600_000,
      deliveryContext: { isRedelivery: false },
      source: { type: "user", userId: "U1" },
      message: { type: "text", id: "1", text: "hello" },
    },
  },
  sampleEnvelope: { destination: "U0" },
  unconfirmed: {
    ackMs: "1 to 2 s are general knowledge",
    retries: "that redelivery has to be switched on is general knowledge",
    redeliveryMs: "no document says how long tries go on",
  },
  proof: "published vectors",
});
