import { defineProvider } from "./define-provider.ts";
import type { GithubEvents } from "./github-events.ts";
import type { Provider } from "./provider.ts";

const day = 24 * 3_600_000;

/**
 * GitHub: HMAC-SHA256 over the body alone. Event type and delivery id travel in headers that no
 * signature covers, so the same body under another id is suspected to be a replay. What remains: within
 * the types a webhook subscribes to, a signed body can be sent again as another type.
 *
 * GitHub never sends again by itself; redelivery is by hand, for 3 days.
 *
 * Source: https://docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries
 *
 * @example
 * ```ts no-run
 * const pushed = github.on("push", async ({ event, tx }) => {
 *   await tx.sql`UPDATE branches SET head = ${event.data.after} WHERE ref = ${event.data.ref}`;
 * });
 * ```
 */
export const github: Provider<"github", GithubEvents> = defineProvider({
  name: "github",
  title: "GitHub",
  docs: "https://docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries",
  proof: "published vectors",
  schemes: [
    {
      kind: "hmac",
      hash: "sha256",
      headers: ["x-hub-signature-256"],
      grammar: { kind: "single", prefix: "sha256=" },
      encoding: "hex",
      key: { from: "utf8" },
      signed: ["body"],
    },
  ],
  identity: {
    id: { from: "header", name: "x-github-delivery" },
    type: { from: "header", name: "x-github-event" },
    account: [{ from: "body", path: ["installation", "id"] }],
  },
  bodyBytesMax: 25 * 1024 * 1024,
  ackMs: 10_000,
  retries: false,
  redeliveryMs: 3 * day,
  replayWindowMs: 7 * day,
  samples: {
    ping: { zen: "Keep it logically awesome.", hook_id: 1 },
    push: {
      ref: "refs/heads/main",
      before: "0".repeat(40),
      after: "1".repeat(40),
      created: true,
      deleted: false,
      forced: false,
      commits: [],
      repository: { id: 1, full_name: "octo-org/octo-repo", private: false },
      sender: { id: 1, login: "octocat" },
    },
  },
});
