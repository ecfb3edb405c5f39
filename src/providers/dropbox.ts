import { bodyHmac } from "./body-hmac.ts";
import { defineProvider } from "./define-provider.ts";
import type { Provider } from "./provider.ts";
import { day } from "./spans.ts";

/**
 * Dropbox: HMAC-SHA256 over the body, which says only whose files changed. The next change has the same body, so each
 * delivery is an event of its own; `list_folder/continue` with your cursor says what changed.
 *
 * Source: https://www.dropbox.com/developers/reference/webhooks
 */
export const dropbox: Provider<"dropbox"> = defineProvider({
  name: "dropbox",
  title: "Dropbox",
  docs: "https://www.dropbox.com/developers/reference/webhooks",
  schemes: [bodyHmac("x-dropbox-signature")],
  identity: { id: { from: "arrival" }, type: { from: "fixed", text: "changed" } },
  ackMs: 10_000,
  retries: true,
  redeliveryMs: day,
  handshake: { kind: "challenge", challengeParam: "challenge" },
  samples: { changed: { list_folder: { accounts: ["dbid:sample"] }, delta: { users: [1] } } },
  unconfirmed: {
    ackMs: "10 s is general knowledge",
    retries: "that it tries again is general knowledge",
    redeliveryMs: "no document says how long tries go on",
  },
});
