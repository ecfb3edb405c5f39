import { bodyHmac } from "./body-hmac.ts";
import { defineProvider } from "./define-provider.ts";
import type { Provider } from "./provider.ts";
import { day } from "./spans.ts";

/**
 * Asana: HMAC-SHA256 over the body, under a secret that is sent once, while the webhook is being made: take it in
 * `handshake.onSecret`, and only while a call of yours is open. Events have no id and little content: what changed is
 * to be fetched. An empty batch is a sign of life.
 *
 * Source: https://developers.asana.com/docs/webhooks-guide
 */
export const asana: Provider<"asana"> = defineProvider({
  name: "asana",
  title: "Asana",
  docs: "https://developers.asana.com/docs/webhooks-guide",
  schemes: [bodyHmac("x-hook-signature")],
  batch: { path: ["events"] },
  identity: {
    id: {
      from: "derived",
      parts: [
        { from: "body", path: ["resource", "gid"] },
        { from: "body", path: ["action"] },
        { from: "body", path: ["created_at"] },
        { from: "digest" },
      ],
    },
    type: {
      from: "joined",
      by: ".",
      of: [
        { from: "body", path: ["resource", "resource_type"] },
        { from: "body", path: ["action"] },
      ],
    },
  },
  ackMs: 10_000,
  retries: true,
  redeliveryMs: day,
  answers: { open: 200 },
  handshake: { kind: "secret", header: "x-hook-secret" },
  samples: {
    "task.changed": {
      action: "changed",
      created_at: "2026-01-01T00:00:00.000Z",
      resource: { gid: "1", resource_type: "task" },
      change: { field: "name", action: "changed" },
    },
  },
});
