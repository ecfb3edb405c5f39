import type { Ed25519Scheme, Scheme } from "../verify/scheme.ts";
import { defineProvider } from "./define-provider.ts";
import type { Provider } from "./provider.ts";

const day = 24 * 3_600_000;

/** How a sender departs from the standard. */
export interface StandardWebhooksOptions {
  /** What stands before `-id`, `-timestamp` and `-signature`: the standard's own name, or Svix's. */
  readonly headerPrefix?: "webhook" | "svix";
  /** Whether the HMAC key is the base64 after `whsec_`, as the standard says, or the secret's whole text. */
  readonly key?: "base64" | "text";
}

/**
 * The schemes of Standard Webhooks: v1, HMAC-SHA256 under a `whsec_` secret, and v1a, Ed25519 under a
 * `whpk_` public key. Both cover id, timestamp and body, and the secret's prefix says which is accepted.
 *
 * Source: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
export function standardWebhooksSchemes(options: StandardWebhooksOptions = {}): readonly [Scheme, ...Scheme[]] {
  const { headerPrefix = "webhook", key = "base64" } = options;
  const common = {
    headers: [`${headerPrefix}-signature`],
    encoding: "base64",
    signed: [{ header: `${headerPrefix}-id` }, { literal: "." }, "timestamp", { literal: "." }, "body"],
    timestamp: { from: { header: `${headerPrefix}-timestamp` }, unit: "s", pastMs: 300_000, futureMs: 300_000 },
  } as const;
  const hmac = { ...common, kind: "hmac", hash: "sha256", grammar: { kind: "versions", version: "v1" } } as const;
  if (key === "text") return [{ ...hmac, key: { from: "utf8" } }];
  const ed25519: Ed25519Scheme = {
    ...common,
    kind: "ed25519",
    grammar: { kind: "versions", version: "v1a" },
    key: { from: "base64", prefix: "whpk_" },
    signingKey: { from: "base64", prefix: "whsk_" },
  };
  return [{ ...hmac, key: { from: "base64", prefix: "whsec_" } }, ed25519];
}

function preset(options: StandardWebhooksOptions): Provider<"standard-webhooks"> {
  return defineProvider({
    name: "standard-webhooks",
    title: "Standard Webhooks",
    docs: "https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md",
    proof: "published vectors",
    schemes: standardWebhooksSchemes(options),
    identity: { id: { from: "header", name: "webhook-id" }, type: { from: "body", path: ["type"] } },
    data: ["data"],
    ackMs: 15_000,
    retries: true,
    redeliveryMs: 30 * day,
    samples: {
      "contact.created": { type: "contact.created", timestamp: "2026-01-01T00:00:00Z", data: { id: "contact_1" } },
    },
    unconfirmed: {
      redeliveryMs: "the standard's example schedule ends after about 75 hours; resends by hand have no stated end",
      ackMs: "the standard advises senders to wait 15 to 30 seconds",
    },
  });
}

/** Any sender that follows Standard Webhooks. */
export const standardWebhooks: Provider<"standard-webhooks"> = preset({});

/** The same for senders that sign with the text of the whole secret, prefix included, instead of what its base64 holds. */
export const standardWebhooksTextSecret: Provider<"standard-webhooks"> = preset({ key: "text" });
