import { defineProvider } from "./define-provider.ts";
import type { Provider } from "./provider.ts";
import { day } from "./spans.ts";

/**
 * Telegram's Bot API: a token in a header, which proves who sends and nothing of what is sent. The type is the name of
 * the update's one other member. An answer of 410 for 23 hours closes the webhook.
 *
 * Source: https://core.telegram.org/bots/api#setwebhook
 */
export const telegram: Provider<"telegram"> = defineProvider({
  name: "telegram",
  title: "Telegram",
  docs: "https://core.telegram.org/bots/api#setwebhook",
  schemes: [{ kind: "token", header: "x-telegram-bot-api-secret-token" }],
  identity: { id: { from: "body", path: ["update_id"] }, type: { from: "key", except: ["update_id"] } },
  ackMs: 10_000,
  retries: true,
  redeliveryMs: day,
  samples: {
    message: { message: { message_id: 1, date: 1_767_225_600, chat: { id: 1, type: "private" }, text: "hello" } },
  },
  unconfirmed: {
    identity: "that update_id tells updates apart is general knowledge",
    ackMs: "no time limit for the answer is confirmed",
  },
});
