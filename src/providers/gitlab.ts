import { defineProvider } from "./define-provider.ts";
import type { Provider } from "./provider.ts";
import { day } from "./spans.ts";

/**
 * GitLab: a token in a header, which proves who sends and nothing of what is sent. `Idempotency-Key` stays
 * the same on retries and resends (17.4 and newer); `X-Gitlab-Event-UUID` is shared by recursive hooks and is
 * no id. Four answers in a row of 4xx switch a webhook off for good.
 *
 * Source: https://docs.gitlab.com/user/project/integrations/webhooks/
 */
export const gitlab: Provider<"gitlab"> = defineProvider({
  name: "gitlab",
  title: "GitLab",
  docs: "https://docs.gitlab.com/user/project/integrations/webhooks/",
  schemes: [{ kind: "token", header: "x-gitlab-token" }],
  identity: { id: { from: "header", name: "idempotency-key" }, type: { from: "header", name: "x-gitlab-event" } },
  ackMs: 10_000,
  retries: false,
  redeliveryMs: 2 * day,
  samples: { "Push Hook": { object_kind: "push", ref: "refs/heads/main", project: { id: 1 } } },
  unconfirmed: { identity: "that the type stands in X-Gitlab-Event is general knowledge" },
});
