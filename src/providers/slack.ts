import { readPath } from "../domain/json.ts";
import { bodyHmac } from "./body-hmac.ts";
import { defineProvider } from "./define-provider.ts";
import { plainText } from "./handshake.ts";
import type { Provider } from "./provider.ts";
import { hour } from "./spans.ts";

const slackScheme = bodyHmac("x-slack-signature", {
  prefix: "v0=",
  signed: [{ literal: "v0:" }, "timestamp", { literal: ":" }, "body"],
  timestamp: { from: { header: "x-slack-request-timestamp" }, unit: "s", pastMs: 300_000, futureMs: 300_000 },
});

/**
 * Slack's Events API and slash commands: HMAC-SHA256 over a version, the timestamp and the body. Slash commands
 * are forms, whose fields are the event. The handshake `url_verification` is answered once its signature is right.
 *
 * Source: https://docs.slack.dev/authentication/verifying-requests-from-slack
 */
export const slack: Provider<"slack"> = defineProvider({
  name: "slack",
  title: "Slack",
  docs: "https://docs.slack.dev/authentication/verifying-requests-from-slack",
  schemes: [slackScheme],
  identity: {
    id: {
      from: "first",
      of: [
        { from: "body", path: ["event_id"] },
        { from: "body", path: ["trigger_id"] },
      ],
    },
    type: {
      from: "first",
      of: [
        { from: "body", path: ["event", "type"] },
        { from: "body", path: ["command"] },
        { from: "body", path: ["type"] },
      ],
    },
    account: [
      { from: "body", path: ["team_id"] },
      { from: "body", path: ["enterprise_id"] },
    ],
  },
  contentTypes: ["application/json", "application/x-www-form-urlencoded"],
  ackMs: 3_000,
  retries: true,
  redeliveryMs: hour,
  handshake: {
    kind: "question",
    when: { path: ["type"], is: "url_verification" },
    answer: (question) => {
      const challenge = readPath(question, ["challenge"]);
      return typeof challenge === "string" ? plainText(200, challenge) : undefined;
    },
  },
  samples: {
    app_mention: { team_id: "T1", type: "event_callback", event: { type: "app_mention", text: "hello", user: "U1" } },
  },
  unconfirmed: { identity: "trigger_id tells slash commands apart; no document calls it an id" },
  proof: "published vectors",
});

/**
 * Slack's interactivity: signed like its events, with JSON in the form's field `payload`.
 *
 * Source: https://docs.slack.dev/interactivity/handling-user-interaction
 */
export const slackInteractivity: Provider<"slack-interactivity"> = defineProvider({
  name: "slack-interactivity",
  title: "Slack interactivity",
  docs: "https://docs.slack.dev/interactivity/handling-user-interaction",
  schemes: [slackScheme],
  identity: {
    id: { from: "body", path: ["trigger_id"] },
    type: { from: "body", path: ["type"] },
    account: [{ from: "body", path: ["team", "id"] }],
  },
  contentTypes: ["application/x-www-form-urlencoded"],
  form: { json: "payload" },
  ackMs: 3_000,
  retries: false,
  redeliveryMs: hour,
  samples: { block_actions: { team: { id: "T1" }, user: { id: "U1" }, actions: [] } },
  unconfirmed: {
    identity: "trigger_id tells interactions apart; no document calls it an id",
    retries: "no document says that an interaction is sent again",
    redeliveryMs: "no document says how long tries go on",
  },
  proof: "published vectors",
});
