/**
 * What holds for every preset: its own samples verify as what they are, every signed byte counts, and
 * what its signature does not cover is what the preset says it does not cover.
 */
import { describe, expect, test } from "vitest";
import { readPath } from "../domain/json.ts";
import { parseBody } from "../parse/parse-body.ts";
import { headersFromRaw } from "../verify/delivery-headers.ts";
import { openKeyring, type Keyring } from "../verify/keyring.ts";
import { headersOf } from "../verify/scheme.ts";
import type { Verdict } from "../verify/verdict.ts";
import { verify } from "../verify/verify.ts";
import { generic } from "./generic.ts";
import { github } from "./github.ts";
import { identify } from "./identify.ts";
import type { ProviderData } from "./provider.ts";
import { sampleDelivery, type SignedDelivery } from "./sample-delivery.ts";
import { standardWebhooks, standardWebhooksTextSecret } from "./standard-webhooks.ts";
import { stripe } from "./stripe.ts";

const atMs = 1_767_225_600_000;
const whsec = `whsec_${Buffer.alloc(24, 1).toString("base64")}`;
const otherWhsec = `whsec_${Buffer.alloc(24, 2).toString("base64")}`;
const byToken = generic({
  name: "by-token",
  signature: { kind: "token", header: "x-token" },
  identity: { id: { from: "header", name: "x-id" }, type: { from: "body", path: ["kind"] } },
  samples: { made: { thing: 1 } },
});
const byTwoHeaders = generic({
  name: "by-hmac",
  signature: {
    kind: "hmac",
    header: "x-signature",
    hash: "sha512",
    encoding: "base64url",
    signed: [{ header: "x-id" }, "timestamp", "body"],
    timestamp: { from: { header: "x-time" }, unit: "ms", pastMs: 60_000, futureMs: 60_000 },
  },
  identity: { id: { from: "header", name: "x-id" }, type: { from: "header", name: "x-type" } },
  samples: { made: { thing: 1 } },
});

const presets: readonly (readonly [string, ProviderData, string])[] = [
  ["stripe", stripe, whsec],
  ["github", github, "a secret for octocats"],
  ["standardWebhooks", standardWebhooks, whsec],
  ["standardWebhooksTextSecret", standardWebhooksTextSecret, whsec],
  ["generic with a token", byToken, "a token for things"],
  ["generic with two signed headers", byTwoHeaders, "a secret for things"],
];

function keyringFor({ rules }: ProviderData, secret: string): Keyring {
  const keyring = openKeyring(rules.schemes, [secret]);
  if (keyring.kind === "unusable") throw new Error(keyring.message);
  return keyring;
}

function judge(keyring: Keyring, { headers, body }: SignedDelivery): Verdict {
  return verify(keyring, { headers: headersFromRaw(Object.entries(headers).flat()), body, arrivedAtMs: atMs });
}

describe.each(presets)("the preset %s", (_name, provider, secret) => {
  const { rules, plan } = provider;
  const keyring = keyringFor(provider, secret);
  const [type = ""] = Object.keys(rules.samples);
  const sample = sampleDelivery(rules, { secret, type, id: "id-1", timestampMs: atMs });

  test("has samples that verify and are identified as what was asked for", () => {
    for (const each of Object.keys(rules.samples)) {
      const { headers, body } = sampleDelivery(rules, { secret, type: each, id: `id-of-${each}`, timestampMs: atMs });
      const verdict = judge(keyring, { headers, body });
      if (verdict.kind === "refused") throw new Error(verdict.cause);
      const read = {
        headers: headersFromRaw(Object.entries(headers).flat()),
        body: parseBody(body, plan),
        authenticated: verdict.authenticated,
      };
      const identity = identify(rules, read);
      expect(identity).toMatchObject({ kind: "identified", id: `id-of-${each}`, type: each, account: "" });
      expect(read.body.kind === "parsed" && readPath(read.body.value, rules.data)).toBeTypeOf("object");
      expect(rules.contentTypes).toContain(headers["content-type"]);
    }
  });

  test("refuses a body with any byte changed, unless it authenticates no body at all", () => {
    const isSigned = rules.schemes.every(({ kind }) => kind !== "token");
    for (const at of sample.body.keys()) {
      const body = Uint8Array.from(sample.body);
      body[at] = (body[at] ?? 0) ^ 1;
      expect(judge(keyring, { headers: sample.headers, body }).kind).toBe(isSigned ? "refused" : "verified");
    }
  });

  test("refuses a change of a header exactly where it says the header is covered", () => {
    const verdict = judge(keyring, sample);
    const signed = verdict.kind === "verified" ? verdict.authenticated.headers : [];
    const read = rules.schemes.flatMap(headersOf);
    for (const [name, value] of Object.entries(sample.headers)) {
      const changed = { ...sample.headers, [name]: `${value}0` };
      const isCovered = signed.includes(name) || read.includes(name);
      expect(judge(keyring, { headers: changed, body: sample.body }).kind).toBe(isCovered ? "refused" : "verified");
    }
  });

  test("refuses a delivery signed for another endpoint", () => {
    const other = keyringFor(provider, secret === whsec ? otherWhsec : `${secret} of another endpoint`);
    expect(judge(other, sample)).toMatchObject({ kind: "refused", cause: "signature_mismatch" });
  });
});

test("sampleDelivery() says which samples there are", () => {
  const options = { secret: whsec, type: "no.such", id: "1", timestampMs: atMs };
  expect(() => sampleDelivery(stripe.rules, options)).toThrow(
    "samples are payment_intent.succeeded, charge.refunded; give a body",
  );
  const { body } = sampleDelivery(stripe.rules, { ...options, body: { data: {} } });
  expect(JSON.parse(Buffer.from(body).toString())).toEqual({ data: {}, id: "1", type: "no.such" });
});

test("pending_webhooks is the one field of a Stripe event that may change between its deliveries", () => {
  const digestOf = (text: string): string => parseBody(Buffer.from(text), stripe.plan).digest;
  const text = '{"id":"evt_1","pending_webhooks":2,"livemode":true}';
  expect(digestOf(text.replace("2", "10"))).toBe(digestOf(text));
  expect(digestOf(text.replace("true", "false"))).not.toBe(digestOf(text));
});
