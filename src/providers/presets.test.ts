/**
 * What holds for every preset: its own samples verify as what they are, every signed byte counts, what its
 * signature does not cover is what the preset says it does not cover, and keys, clocks and junk do what they
 * have to.
 */
import { beforeAll, describe, expect, test } from "vitest";
import { keyringOf, presetKey, publicUrl } from "../../test/kit/preset-keys.ts";
import { type Json, readPath } from "../domain/json.ts";
import { parseBody } from "../parse/parse-body.ts";
import { readForm } from "../parse/read-form.ts";
import { headersFromRaw } from "../verify/delivery-headers.ts";
import type { Keyring } from "../verify/keyring.ts";
import { headersOf, type TimestampRule } from "../verify/scheme.ts";
import type { Verdict } from "../verify/verdict.ts";
import { verify, verifyFetching } from "../verify/verify.ts";
import { catalogue } from "./catalogue.ts";
import { generic } from "./generic.ts";
import { identify, type Identity } from "./identify.ts";
import type { ProviderData } from "./provider.ts";
import { sampleDelivery, type SignedDelivery } from "./sample-delivery.ts";
import { standardWebhooksTextSecret } from "./standard-webhooks.ts";
import { stripe } from "./stripe.ts";

const atMs = 1_800_000_000_000;
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

const presets: readonly (readonly [string, ProviderData])[] = [
  ...Object.entries(catalogue),
  ["standardWebhooksTextSecret", standardWebhooksTextSecret],
  ["generic with a token", byToken],
  ["generic with two signed headers", byTwoHeaders],
];

interface Sent extends SignedDelivery {
  readonly raw?: readonly string[];
  readonly arrivedAtMs?: number;
}

function judge(keyring: Keyring, { headers, body, suffix = "", raw, arrivedAtMs = atMs }: Sent): Verdict {
  const given = headersFromRaw(raw ?? Object.entries(headers).flat());
  return verify(keyring, { headers: given, body, arrivedAtMs, target: `/hooks/preset${suffix}` });
}

function sampleOf(
  { rules }: ProviderData,
  number: 1 | 2 | 3,
  change: { type?: string; id?: string } = {},
): SignedDelivery {
  const { signing } = presetKey({ rules } as ProviderData, number);
  const { type = Object.keys(rules.samples)[0] ?? "", id = "id-1" } = change;
  return sampleDelivery(rules, { secret: signing, type, id, timestampMs: atMs, publicUrl });
}

/** Certificates are fetched once; everything after goes without a wait. */
async function warmed(provider: ProviderData, keyring: Keyring): Promise<Keyring> {
  const { headers, body } = sampleOf(provider, 1);
  await verifyFetching(keyring, { headers: headersFromRaw(Object.entries(headers).flat()), body, arrivedAtMs: atMs });
  return keyring;
}

function identityOf({ rules, plan }: ProviderData, { headers, body }: SignedDelivery, verdict: Verdict): Identity {
  if (verdict.kind === "refused") throw new Error(verdict.cause);
  const form = headers["content-type"]?.includes("form") ? readForm(body, rules.form) : undefined;
  const content = form?.kind === "content" ? form.content : body;
  const json = JSON.parse(Buffer.from(content).toString()) as Json;
  const items = rules.batch && (readPath(json, rules.batch.path) as Json[]);
  const bytes = items ? Buffer.from(JSON.stringify(items[0])) : content;
  return identify(rules, {
    headers: headersFromRaw(Object.entries(headers).flat()),
    body: parseBody(bytes, plan),
    authenticated: verdict.authenticated,
    arrivedAtMs: atMs,
  });
}

describe.each(presets)("the preset %s", (_name, provider) => {
  const { rules } = provider;
  const sample = sampleOf(provider, 1);
  let keyring: Keyring;
  beforeAll(async () => {
    keyring = await warmed(provider, keyringOf(provider, [presetKey(provider, 1)]));
  });

  test("has samples that verify and are identified as what was asked for", () => {
    expect(Object.keys(rules.samples)).not.toEqual([]);
    for (const type of Object.keys(rules.samples)) {
      const sent = sampleOf(provider, 1, { type, id: `id-of-${type}` });
      const identity = identityOf(provider, sent, judge(keyring, sent));
      expect(identity).toMatchObject({ kind: "identified", type });
      expect("id" in identity && identity.id).toMatch(/^(?:id-of-|derived:|arrival:)/);
      expect(rules.contentTypes).toContain(sent.headers["content-type"]);
    }
  });

  test("refuses a body with any byte changed, as far as it authenticates the body", () => {
    const verdict = judge(keyring, sample);
    const isCovered = verdict.kind === "verified" && verdict.authenticated.body;
    const isPartly = rules.schemes.some((scheme) => scheme.kind === "fields" || "field" in scheme);
    // A CRC-32 tells every change of one byte, though none that was made on purpose.
    const isChecked = isCovered || rules.schemes.some(({ kind }) => kind === "rsa");
    if (isPartly) return;
    for (const at of sample.body.keys()) {
      const body = Uint8Array.from(sample.body);
      body[at] = (body[at] ?? 0) ^ 1;
      expect([at, judge(keyring, { ...sample, body }).kind]).toEqual([at, isChecked ? "refused" : "verified"]);
    }
  });

  test("refuses a change of a header exactly where it says the header is covered", () => {
    const covered = new Set(rules.schemes.flatMap(headersOf).map((name) => name.toLowerCase()));
    for (const [name, value] of Object.entries(sample.headers)) {
      if (name === "content-type") continue;
      const isCovered = covered.has(name);
      for (const at of Array.from(value, (_each, index) => index)) {
        const flipped = String.fromCharCode(value.charCodeAt(at) ^ 1);
        const headers = { ...sample.headers, [name]: value.slice(0, at) + flipped + value.slice(at + 1) };
        const { kind } = judge(keyring, { ...sample, headers });
        expect([name, at, kind]).toEqual([name, at, isCovered ? "refused" : "verified"]);
      }
    }
  });

  test("reads headers whatever the case of their names", () => {
    const raw = Object.entries(sample.headers).flatMap(([name, value]) => [name.toUpperCase(), value]);
    expect(judge(keyring, { ...sample, raw }).kind).toBe("verified");
  });

  test("refuses a header that it reads and that comes twice", () => {
    const read = new Set(rules.schemes.flatMap(headersOf).map((name) => name.toLowerCase()));
    for (const [name, value] of Object.entries(sample.headers)) {
      if (!read.has(name)) continue;
      const raw = [...Object.entries(sample.headers).flat(), name, value];
      expect([name, judge(keyring, { ...sample, raw }).kind]).toEqual([name, "refused"]);
    }
  });

  test("takes the old secret and the new one in either order, and no other", async () => {
    const [old, next, other] = [presetKey(provider, 1), presetKey(provider, 2), presetKey(provider, 3)];
    for (const keys of [
      [old, next],
      [next, old],
    ]) {
      const both = await warmed(provider, keyringOf(provider, keys));
      expect(([1, 2, 3] as const).map((number) => judge(both, sampleOf(provider, number)).kind)).toEqual([
        "verified",
        "verified",
        "refused",
      ]);
    }
    const foreign = await warmed(provider, keyringOf(provider, [other]));
    // A token that names its key is of an unknown one.
    const cause = expect.stringMatching(/^(?:signature_mismatch|key_unknown)$/) as string;
    expect(judge(foreign, sample)).toMatchObject({ kind: "refused", cause });
  });

  test("bounds the age of what it can tell the age of, on both sides", () => {
    const rule: TimestampRule | undefined = rules.schemes.map((scheme) =>
      "timestamp" in scheme ? scheme.timestamp : undefined,
    )[0];
    if (rule === undefined) return;
    const causeAt = (arrivedAtMs: number): string => {
      const verdict = judge(keyring, { ...sample, arrivedAtMs });
      return verdict.kind === "refused" ? verdict.cause : verdict.kind;
    };
    expect(causeAt(atMs + rule.pastMs)).toBe("verified");
    expect(causeAt(atMs + rule.pastMs + 1_000)).toBe("timestamp_too_old");
    expect(causeAt(atMs - rule.futureMs)).toBe("verified");
    expect(causeAt(atMs - rule.futureMs - 1_000)).toBe("timestamp_in_future");
  });

  test("never throws over junk of any length, and never takes it", () => {
    const names = Object.keys(sample.headers);
    const junk = '{"a":[null],"value":[{"clientState":1}],"notificationItems":[7]}=,.;% v0=\u00e9\u0001'.repeat(4);
    for (let length = 0; length < 260; length += 3) {
      const text = junk.slice(length % 7, (length % 7) + length);
      const raw = names.flatMap((name) => [name, text]);
      const suffix = `/${text}?token=${text}`;
      expect(judge(keyring, { ...sample, raw, body: Buffer.from(text), suffix }).kind).toBe("refused");
      expect(judge(keyring, { headers: {}, body: Buffer.from(text) }).kind).toBe("refused");
    }
  });
});

describe("what a signature in the body leaves open", () => {
  const leaves = (json: Json, path: readonly string[] = []): (readonly string[])[] =>
    typeof json === "object" && json !== null
      ? Object.entries(json).flatMap(([key, value]) => leaves(value ?? null, [...path, key]))
      : [path];

  test.each(["adyen", "mailgun", "msgraph"])("%s refuses a change exactly of the fields that it says", (name) => {
    const provider = catalogue[name];
    if (provider === undefined) throw new Error(name);
    const [scheme] = provider.rules.schemes;
    const keyring = keyringOf(provider, [presetKey(provider, 1)]);
    const sample = sampleOf(provider, 1);
    const json = JSON.parse(Buffer.from(sample.body).toString()) as Json;
    const own =
      scheme.kind === "fields"
        ? [scheme.signature, ...(keyring.entries[0]?.authenticated.fields ?? [])]
        : [["clientState"]];
    for (const path of leaves(json)) {
      const changed = structuredClone(json) as Record<string, unknown>;
      const holder = readPath(changed, path.slice(0, -1)) as Record<string, unknown>;
      holder[path.at(-1) ?? ""] = `${String(holder[path.at(-1) ?? ""])}x`;
      const verdict = judge(keyring, { ...sample, body: Buffer.from(JSON.stringify(changed)) });
      const isOwn = own.some((field) => path.join("/").endsWith(field.join("/")));
      expect([path.join("."), verdict.kind]).toEqual([path.join("."), isOwn ? "refused" : "verified"]);
    }
  });
});

test("names of presets are told apart, and each says where it is documented", () => {
  const all = Object.values(catalogue);
  expect(new Set(all.map(({ name }) => name)).size).toBe(all.length);
  for (const { rules } of all) expect([rules.title, rules.docs]).not.toContain(undefined);
});

test("sampleDelivery() says which samples there are", () => {
  const options = { secret: "whsec_a_secret_of_stripe", type: "no.such", id: "1", timestampMs: atMs };
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
