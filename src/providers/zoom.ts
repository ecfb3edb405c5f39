import { readPath } from "../domain/json.ts";
import { bodyHmac } from "./body-hmac.ts";
import { defineProvider } from "./define-provider.ts";
import type { Provider } from "./provider.ts";
import { day } from "./spans.ts";

/**
 * Zoom: HMAC-SHA256 over a version, the timestamp and the body. Its handshake asks for the HMAC of a text of the
 * asker's choice, so it is answered only after its own signature is right. Events have no id.
 *
 * Source: https://developers.zoom.us/docs/api/webhooks/
 */
export const zoom: Provider<"zoom"> = defineProvider({
  name: "zoom",
  title: "Zoom",
  docs: "https://developers.zoom.us/docs/api/webhooks/",
  schemes: [
    bodyHmac("x-zm-signature", {
      prefix: "v0=",
      signed: [{ literal: "v0:" }, "timestamp", { literal: ":" }, "body"],
      timestamp: { from: { header: "x-zm-request-timestamp" }, unit: "s", pastMs: 300_000, futureMs: 300_000 },
    }),
  ],
  identity: {
    id: {
      from: "derived",
      parts: [
        { from: "body", path: ["event"] },
        { from: "body", path: ["event_ts"] },
        { from: "body", path: ["payload", "object", "uuid"] },
        { from: "body", path: ["payload", "object", "id"] },
      ],
    },
    type: { from: "body", path: ["event"] },
    account: [{ from: "body", path: ["payload", "account_id"] }],
  },
  data: ["payload"],
  ackMs: 3_000,
  retries: true,
  redeliveryMs: day,
  answers: { open: 200 },
  handshake: {
    kind: "question",
    when: { path: ["event"], is: "endpoint.url_validation" },
    answer: (question, keyed) => {
      const plainToken = readPath(question, ["payload", "plainToken"]);
      if (typeof plainToken !== "string") return undefined;
      const body = JSON.stringify({ plainToken, encryptedToken: keyed(plainToken) });
      return { status: 200, headers: { "content-type": "application/json" }, body };
    },
  },
  samples: {
    "meeting.started": {
      event_ts: 1_767_225_600_000,
      payload: { account_id: "account1", object: { id: "1", uuid: "u1" } },
    },
  },
  unconfirmed: {
    retries: "tries after 5, 20 and 60 minutes are general knowledge",
    redeliveryMs: "no document says how long tries go on",
  },
});
