/**
 * Signature vectors as published by providers' documents and SDK test suites; each names its source. A
 * preset is judged as it ships; schemes of senders that have none stand here, as whoever declares one writes them.
 */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { headersFromRaw } from "../verify/delivery-headers.ts";
import { hmacKey } from "../verify/hmac.ts";
import { openKeyring, type Keyring, type KeyringOptions } from "../verify/keyring.ts";
import { authenticatedBy, type Scheme, type TimestampRule } from "../verify/scheme.ts";
import { verify, verifyFetching } from "../verify/verify.ts";
import { bodyHmac } from "./body-hmac.ts";
import { catalogue } from "./catalogue.ts";
import { generic } from "./generic.ts";

interface Vector {
  readonly id: string;
  readonly provider: string;
  readonly scheme?: string;
  readonly source: string;
  readonly secret?: string;
  readonly secondarySecret?: string;
  readonly publicKey?: string;
  readonly webhookId?: string;
  readonly certificatePem?: string;
  readonly method?: string;
  readonly url?: string;
  readonly contentType?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly nowUnix?: number;
  readonly valid: boolean;
}

const families = [
  "stripe",
  "github",
  "standard-webhooks",
  "hmac",
  "ed25519",
  "twilio",
  "sendgrid",
  "adyen",
  "paypal",
  "jwt",
] as const;

function load(family: string): readonly Vector[] {
  return JSON.parse(readFileSync(new URL(`../../test/vectors/${family}.json`, import.meta.url), "utf8")) as Vector[];
}

/** Some vectors use secrets that no connection would be allowed; their keys are made by hand. */
function keyringOf(schemes: readonly Scheme[], vector: Vector): Keyring {
  const { secret, secondarySecret, publicKey, webhookId, certificatePem = null } = vector;
  const secrets = [secret, secondarySecret, publicKey, webhookId];
  const options: KeyringOptions = {
    publicUrl: vector.url?.split("?")[0],
    fetchKey: () => Promise.resolve(certificatePem),
  };
  const keyring = openKeyring(schemes, secrets, options);
  if (keyring.kind === "usable") return keyring;
  expect(["too_short", "placeholder"]).toContain(keyring.cause);
  const entries = schemes.flatMap((scheme) => {
    if (scheme.kind !== "hmac") return [];
    const text = scheme.key.from === "utf8" && scheme.key.as === "nfkd" ? secret?.normalize("NFKD") : secret;
    const key = hmacKey(scheme.hash, Buffer.from(text ?? ""));
    return [{ kind: "hmac", scheme, authenticated: authenticatedBy(scheme), keys: [{ id: "weak", key }] } as const];
  });
  return { kind: "usable", entries, secretIds: ["weak"], publicUrl: options.publicUrl };
}

async function verdictOf(schemes: readonly Scheme[], vector: Vector): Promise<string> {
  const { headers, body, method = "POST", url = "", contentType } = vector;
  const delivery = {
    headers: headersFromRaw(Object.entries({ ...(contentType && { "content-type": contentType }), ...headers }).flat()),
    body: Buffer.from(body),
    arrivedAtMs: arrivalOf(vector),
    method,
    target: url.slice(url.indexOf("/", "https://".length)),
  };
  const verdict = await verifyFetching(keyringOf(schemes, vector), delivery);
  return verdict.kind;
}

/** Where a vector names no clock it is judged when it was sent. */
function arrivalOf({ nowUnix, headers }: Vector): number {
  const sent = headers["X-Twilio-Email-Event-Webhook-Timestamp"] ?? "";
  const sentAt = headers["PAYPAL-TRANSMISSION-TIME"];
  return sentAt === undefined ? (nowUnix ?? Number(/^\d+$/.test(sent) ? sent : 0)) * 1_000 : Date.parse(sentAt);
}

function within(from: TimestampRule["from"], unit: TimestampRule["unit"], seconds: number): TimestampRule {
  return { from, unit, pastMs: seconds * 1_000, futureMs: seconds * 1_000 };
}

/** Senders that have no preset, and what presets have left behind. */
const declared: Readonly<Record<string, Scheme>> = {
  sanity: bodyHmac("sanity-webhook-signature", {
    grammar: { kind: "pairs", separator: ",", signature: "v1" },
    encoding: "base64url",
    signed: ["timestamp", { literal: "." }, "body"],
    timestamp: within({ pair: "t" }, "ms", 1e10),
  }),
  messagebird: {
    kind: "jws",
    header: "messagebird-signature-jwt",
    algorithms: ["HS256", "HS512"],
    bodyClaim: "payload_hash",
    urlClaim: "url_hash",
    issuer: "MessageBird",
  },
  rfc9421: bodyHmac("signature", {
    grammar: { kind: "single", prefix: "sig-b25=:", suffix: ":" },
    encoding: "base64",
    key: { from: "base64" },
    signed: [
      { literal: '"date": ' },
      { header: "date" },
      { literal: '\n"@authority": example.com\n"content-type": ' },
      { header: "content-type" },
      { literal: '\n"@signature-params": ' },
      { header: "signature-input", after: "sig-b25=" },
    ],
  }),
  "hubspot v1": bodyHmac("x-hubspot-signature", {
    construction: "prefix",
    requires: { "x-hubspot-signature-version": "v1" },
  }),
  "hubspot v2": bodyHmac("x-hubspot-signature", {
    construction: "prefix",
    signed: ["method", "url", "body"],
    requires: { "x-hubspot-signature-version": "v2" },
  }),
};

function schemesFor({ provider, scheme }: Vector): readonly Scheme[] {
  const own = declared[`${provider} ${scheme}`] ?? declared[provider];
  if (own !== undefined) return [own];
  return Object.values(catalogue).find(({ name }) => name === provider)?.rules.schemes ?? [];
}

describe.each(families)("published vectors: %s", (family) => {
  test.each(load(family).map((vector) => [vector.id, vector] as const))("%s", async (_id, vector) => {
    expect(vector.source).not.toBe("");
    expect(await verdictOf(schemesFor(vector), vector)).toBe(vector.valid ? "verified" : "refused");
  });
});

test("a preset that names published vectors has one that it verifies", () => {
  const vectors = families.flatMap(load).filter(({ valid, source }) => valid && !source.startsWith("made from"));
  const proven = new Set(vectors.map((vector) => JSON.stringify(schemesFor(vector))));
  const claimed = Object.values(catalogue).filter(({ rules }) => rules.proof === "published vectors");
  const unproven = claimed.filter(({ rules }) => !proven.has(JSON.stringify(rules.schemes)));
  expect(unproven.map(({ name }) => name)).toEqual([]);
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
