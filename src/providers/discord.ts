import type { Ed25519Scheme } from "../verify/scheme.ts";
import { defineProvider } from "./define-provider.ts";
import type { Provider } from "./provider.ts";
import { hour, minute } from "./spans.ts";

const discordScheme: Ed25519Scheme = {
  kind: "ed25519",
  headers: ["x-signature-ed25519"],
  grammar: { kind: "single" },
  encoding: "hex",
  key: { from: "hex" },
  signingKey: { from: "hex" },
  signed: ["timestamp", "body"],
  timestamp: { from: { header: "x-signature-timestamp" }, unit: "s", pastMs: 15 * minute, futureMs: 5 * minute },
};

/**
 * Discord's webhook events: Ed25519 over the timestamp and the body, under the application's public key. Discord sends
 * wrong signatures on purpose and removes a URL that does not answer 401 to them. Events have no id. A secret that
 * signs is the key's 32 byte seed in hex.
 *
 * Source: https://discord.com/developers/docs/events/webhook-events
 */
export const discord: Provider<"discord"> = defineProvider({
  name: "discord",
  title: "Discord webhook events",
  docs: "https://discord.com/developers/docs/events/webhook-events",
  schemes: [discordScheme],
  identity: {
    id: {
      from: "derived",
      parts: [
        { from: "body", path: ["event", "type"] },
        { from: "body", path: ["event", "timestamp"] },
        { from: "digest" },
      ],
    },
    type: { from: "body", path: ["event", "type"] },
    account: [{ from: "body", path: ["application_id"] }],
  },
  data: ["event", "data"],
  ackMs: 3_000,
  retries: true,
  redeliveryMs: hour,
  answers: { final: 204, open: 204 },
  handshake: {
    kind: "question",
    when: { path: ["type"], is: 0 },
    answer: () => ({ status: 204, headers: {}, body: "" }),
  },
  samples: {
    APPLICATION_AUTHORIZED: {
      version: 1,
      application_id: "1",
      type: 1,
      event: { type: "APPLICATION_AUTHORIZED", timestamp: "2026-01-01T00:00:00.000000", data: { user: { id: "2" } } },
    },
  },
  proof: "the provider's SDK",
  unconfirmed: { schemes: "Discord states no tolerance for its timestamp; 15 minutes cover its retries" },
});

/**
 * Discord's interactions: signed like its webhook events. The handshake is a PING of type 1.
 *
 * Source: https://discord.com/developers/docs/interactions/receiving-and-responding
 */
export const discordInteractions: Provider<"discord-interactions"> = defineProvider({
  name: "discord-interactions",
  title: "Discord interactions",
  docs: "https://discord.com/developers/docs/interactions/receiving-and-responding",
  schemes: [discordScheme],
  identity: {
    id: { from: "body", path: ["id"] },
    type: { from: "body", path: ["type"] },
    account: [{ from: "body", path: ["application_id"] }],
  },
  ackMs: 3_000,
  retries: false,
  redeliveryMs: hour,
  answers: { open: 200 },
  handshake: {
    kind: "question",
    when: { path: ["type"], is: 1 },
    answer: () => ({ status: 200, headers: { "content-type": "application/json" }, body: '{"type":1}' }),
  },
  samples: { "2": { application_id: "1", guild_id: "3", data: { id: "4", name: "sample" } } },
  proof: "the provider's SDK",
  unconfirmed: {
    schemes: "Discord states no tolerance for its timestamp; 15 minutes are taken",
    retries: "no document says that an interaction is sent again",
    redeliveryMs: "no document says how long tries go on",
    handshake: "the answer to a PING of type 1 is general knowledge",
  },
});
