/**
 * Signature vectors as published by providers' documents and SDK test suites; each names its source.
 * Beside the presets they cover schemes that `generic` and plain scheme data can express.
 */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { headersFromRaw } from "../verify/delivery-headers.ts";
import { hmacKey } from "../verify/hmac.ts";
import { openKeyring, type Keyring } from "../verify/keyring.ts";
import { authenticatedBy, type HmacScheme, type Scheme, type TimestampRule } from "../verify/scheme.ts";
import { verify } from "../verify/verify.ts";
import { generic, type GenericSignature } from "./generic.ts";
import { github } from "./github.ts";
import { standardWebhooks, standardWebhooksSchemes, standardWebhooksTextSecret } from "./standard-webhooks.ts";
import { stripe } from "./stripe.ts";

interface Vector {
  readonly id: string;
  readonly provider: string;
  readonly source: string;
  readonly secret?: string;
  readonly secondarySecret?: string;
  readonly publicKey?: string;
  readonly method?: string;
  readonly url?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly nowUnix?: number;
  readonly valid: boolean;
}

function load(family: string): readonly Vector[] {
  return JSON.parse(readFileSync(new URL(`../../test/vectors/${family}.json`, import.meta.url), "utf8")) as Vector[];
}

/** Some vectors use secrets that no connection would be allowed; their keys are made by hand. */
function keyringOf(schemes: readonly Scheme[], secrets: readonly (string | undefined)[]): Keyring {
  const keyring = openKeyring(schemes, secrets);
  if (keyring.kind === "usable") return keyring;
  expect(["too_short", "placeholder"]).toContain(keyring.cause);
  const [scheme] = schemes;
  if (scheme?.kind !== "hmac") throw new Error(keyring.message);
  const key = hmacKey(scheme.hash, Buffer.from(secrets[0] ?? ""));
  const entry = { kind: "hmac", scheme, authenticated: authenticatedBy(scheme), keys: [{ id: "weak", key }] } as const;
  return { kind: "usable", entries: [entry], secretIds: ["weak"], publicUrl: undefined };
}

function verdictOf(schemes: readonly Scheme[], vector: Vector): string {
  const { secret, secondarySecret, publicKey, headers, body, nowUnix = 0 } = vector;
  const keyring = keyringOf(schemes, [secret?.normalize("NFKD"), secondarySecret, publicKey]);
  const delivery = {
    headers: headersFromRaw(Object.entries(headers).flat()),
    body: Buffer.from(body),
    arrivedAtMs: nowUnix * 1_000,
  };
  return verify(keyring, delivery).kind;
}

const presets: Readonly<Record<string, readonly Scheme[]>> = {
  stripe: stripe.rules.schemes,
  github: github.rules.schemes,
  "standard-webhooks": standardWebhooks.rules.schemes,
  openai: standardWebhooks.rules.schemes,
  polar: standardWebhooksTextSecret.rules.schemes,
  svix: standardWebhooksSchemes({ headerPrefix: "svix" }),
  clerk: standardWebhooksSchemes({ headerPrefix: "svix" }),
};

function within(from: TimestampRule["from"], unit: TimestampRule["unit"], seconds: number): TimestampRule {
  return { from, unit, pastMs: seconds * 1_000, futureMs: seconds * 1_000 };
}

/** How each provider signs, as far as one header and the body go, in `generic`'s short form. */
const signatures: Readonly<Record<string, (vector: Vector) => GenericSignature>> = {
  slack: () => ({
    kind: "hmac",
    header: "x-slack-signature",
    prefix: "v0=",
    signed: [{ literal: "v0:" }, "timestamp", { literal: ":" }, "body"],
    timestamp: within({ header: "x-slack-request-timestamp" }, "s", 300),
  }),
  gocardless: () => ({ kind: "hmac", header: "webhook-signature" }),
  line: () => ({ kind: "hmac", header: "x-line-signature", encoding: "base64" }),
  razorpay: () => ({ kind: "hmac", header: "x-razorpay-signature" }),
  "coinbase-commerce": () => ({ kind: "hmac", header: "x-cc-webhook-signature" }),
  shopify: () => ({ kind: "hmac", header: "x-shopify-hmac-sha256", encoding: "base64" }),
  notion: () => ({ kind: "hmac", header: "x-notion-signature", prefix: "sha256=" }),
  easypost: () => ({ kind: "hmac", header: "x-hmac-signature", prefix: "hmac-sha256-hex=" }),
  linear: () => ({
    kind: "hmac",
    header: "linear-signature",
    timestamp: within({ header: "linear-timestamp" }, "ms", 60),
  }),
  square: ({ url = "" }) => ({
    kind: "hmac",
    header: "x-square-hmacsha256-signature",
    encoding: "base64",
    signed: [{ literal: url }, "body"],
  }),
  hubspot: ({ method = "", url = "" }) => ({
    kind: "hmac",
    header: "x-hubspot-signature-v3",
    encoding: "base64",
    signed: [{ literal: method }, { literal: url }, "body", "timestamp"],
    timestamp: within({ header: "x-hubspot-request-timestamp" }, "ms", 300),
  }),
  discord: () => ({
    kind: "ed25519",
    header: "x-signature-ed25519",
    signed: ["timestamp", "body"],
    timestamp: within({ header: "x-signature-timestamp" }, "s", 300),
  }),
};

const hmacOfPairs = { kind: "hmac", hash: "sha256", key: { from: "utf8" } } as const;
/** Grammars that the short form has not. */
const otherSchemes: Readonly<Record<string, HmacScheme>> = {
  paddle: {
    ...hmacOfPairs,
    headers: ["paddle-signature"],
    grammar: { kind: "pairs", separator: ";", signature: "h1" },
    encoding: "hex",
    signed: ["timestamp", { literal: ":" }, "body"],
    timestamp: within({ pair: "ts" }, "s", 5),
  },
  workos: {
    ...hmacOfPairs,
    headers: ["workos-signature"],
    grammar: { kind: "pairs", separator: ", ", signature: "v1" },
    encoding: "hex",
    signed: ["timestamp", { literal: "." }, "body"],
    timestamp: within({ pair: "t" }, "ms", 180),
  },
  sanity: {
    ...hmacOfPairs,
    headers: ["sanity-webhook-signature"],
    grammar: { kind: "pairs", separator: ",", signature: "v1" },
    encoding: "base64url",
    signed: ["timestamp", { literal: "." }, "body"],
    timestamp: within({ pair: "t" }, "ms", 1e10),
  },
  box: {
    ...hmacOfPairs,
    headers: ["box-signature-primary", "box-signature-secondary"],
    grammar: { kind: "single" },
    encoding: "base64",
    signed: ["body", "timestamp"],
    timestamp: within({ header: "box-delivery-timestamp" }, "rfc3339", 600),
  },
};

function schemesFor(vector: Vector): readonly Scheme[] {
  const { provider } = vector;
  const other = presets[provider] ?? (otherSchemes[provider] && [otherSchemes[provider]]);
  const signature = signatures[provider]?.(vector);
  if (other !== undefined || signature === undefined) return other ?? [];
  const identity = { id: { from: "body", path: ["id"] }, type: { from: "fixed", text: "event" } } as const;
  return generic({ signature, identity }).rules.schemes;
}

describe.each(["stripe", "github", "standard-webhooks", "hmac", "ed25519"])("published vectors: %s", (family) => {
  test.each(load(family).map((vector) => [vector.id, vector] as const))("%s", (_id, vector) => {
    expect(vector.source).not.toBe("");
    expect(verdictOf(schemesFor(vector), vector)).toBe(vector.valid ? "verified" : "refused");
  });
});

describe("an Ed25519 signature over the body alone", () => {
  // RFC 8032, section 7.1, tests 1 to 3: public key, message, signature.
  test.each([
    [
      "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
      "",
      "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ],
    [
      "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
      "72",
      "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ],
    [
      "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
      "af82",
      "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ],
  ])("verifies as RFC 8032 prints it, under %s", (publicKey, message, signature) => {
    const identity = { id: { from: "body", path: ["id"] }, type: { from: "fixed", text: "event" } } as const;
    const { schemes } = generic({ signature: { kind: "ed25519", header: "x-signature" }, identity }).rules;
    const keyring = openKeyring(schemes, [publicKey]);
    if (keyring.kind !== "usable") throw new Error(keyring.message);
    const headers = headersFromRaw(["x-signature", signature]);
    expect(verify(keyring, { headers, body: Buffer.from(message, "hex"), arrivedAtMs: 0 }).kind).toBe("verified");
    expect(verify(keyring, { headers, body: Buffer.from(`${message}00`, "hex"), arrivedAtMs: 0 }).kind).toBe("refused");
  });
});
