/**
 * Providers' own SDKs as oracles: signed by ours and accepted by theirs, signed by theirs and accepted by
 * ours, and refused by both where a byte differs.
 */
import { sign as signGithub, verify as verifyGithub } from "@octokit/webhooks-methods";
import { EventWebhook } from "@sendgrid/eventwebhook";
import { verifyKey } from "discord-interactions";
import { Webhook } from "standardwebhooks";
import { describe, expect, test } from "vitest";
import { keyringOf, presetKey, publicUrl } from "../../test/kit/preset-keys.ts";
import { type OracleDelivery, sdkOracles } from "../../test/kit/sdk-oracles.ts";
import { headersFromRaw } from "../verify/delivery-headers.ts";
import { verify } from "../verify/verify.ts";
import { catalogue } from "./catalogue.ts";
import type { ProviderData } from "./provider.ts";
import { sampleDelivery, type SignedDelivery } from "./sample-delivery.ts";

function preset(name: string): ProviderData {
  const provider = catalogue[name];
  if (provider === undefined) throw new Error(`Cannot find preset "${name}"`);
  return provider;
}

/** Theirs read the machine's clock, so samples are of now. */
const nowMs = Math.floor(Date.now() / 1_000) * 1_000;

function sampleOf(
  provider: ProviderData,
  { number = 1, timestampMs = nowMs }: { readonly number?: 1 | 2; readonly timestampMs?: number } = {},
): SignedDelivery {
  const { rules } = provider;
  const { signing: secret } = presetKey(provider, number);
  const type = Object.keys(rules.samples)[0] ?? "";
  return sampleDelivery(rules, { secret, type, id: "msg_1", timestampMs, publicUrl });
}

function accepts(provider: ProviderData, { headers, body, suffix = "" }: SignedDelivery): boolean {
  const raw = headersFromRaw(Object.entries(headers).flat());
  const delivery = { headers: raw, body, arrivedAtMs: nowMs, target: `/hooks/preset${suffix}` };
  return verify(keyringOf(provider, [presetKey(provider, 1)]), delivery).kind === "verified";
}

function text({ body }: SignedDelivery): string {
  return Buffer.from(body).toString();
}

describe.each(["standardWebhooks", "svix", "clerk", "resend", "openai", "polar", "bigcommerce"])(
  "%s and the library of Standard Webhooks",
  (name) => {
    const provider = preset(name);
    const { configured } = presetKey(provider, 1);
    // Polar and BigCommerce sign with the text; their documents say to give the library its base64.
    const isText = ["polar", "bigcommerce"].includes(name);
    const theirs = new Webhook(isText ? Buffer.from(configured).toString("base64") : configured);
    const [headerName = ""] = Object.keys(sampleOf(provider).headers).filter((each) => each.endsWith("-signature"));
    const prefix = headerName.slice(0, -"-signature".length);

    test("accept what the other signs, and neither a changed body", () => {
      const ours = sampleOf(provider);
      const renamed = Object.fromEntries(
        Object.entries(ours.headers).map(([each, value]) => [each.replace(prefix, "webhook"), value]),
      );
      expect(theirs.verify(text(ours), renamed)).toEqual(JSON.parse(text(ours)));
      expect(() => theirs.verify(`${text(ours)} `, renamed)).toThrow();

      const signed = theirs.sign("msg_2", new Date(nowMs), '{"type":"user.created"}');
      const headers = {
        "content-type": "application/json",
        [`${prefix}-id`]: "msg_2",
        [`${prefix}-timestamp`]: String(nowMs / 1_000),
        [`${prefix}-signature`]: signed,
      };
      expect(accepts(provider, { headers, body: Buffer.from('{"type":"user.created"}') })).toBe(true);
      expect(accepts(provider, { headers, body: Buffer.from('{"type":"user.deleted"}') })).toBe(false);
    });
  },
);

test("github and Octokit accept what the other signs, and neither a changed body", async () => {
  const github = preset("github");
  const { configured } = presetKey(github, 1);
  const ours = sampleOf(github);
  const signature = ours.headers["x-hub-signature-256"] ?? "";
  expect(await verifyGithub(configured, text(ours), signature)).toBe(true);
  expect(await verifyGithub(configured, `${text(ours)} `, signature)).toBe(false);
  const headers = { "x-hub-signature-256": await signGithub(configured, "theirs") };
  expect(accepts(github, { headers, body: Buffer.from("theirs") })).toBe(true);
  expect(accepts(github, { headers, body: Buffer.from("others") })).toBe(false);
});

test.each(["discord", "discordInteractions"])(
  "Discord's library accepts what %s signs, and no changed body",
  async (name) => {
    const provider = preset(name);
    const { configured } = presetKey(provider, 1);
    const { headers, body } = sampleOf(provider);
    const [signature = "", timestamp = ""] = [headers["x-signature-ed25519"], headers["x-signature-timestamp"]];
    expect(await verifyKey(Buffer.from(body), signature, timestamp, configured)).toBe(true);
    expect(await verifyKey(Buffer.concat([body, Buffer.from(" ")]), signature, timestamp, configured)).toBe(false);
  },
);

test("SendGrid's library accepts what sendgrid signs, and no changed body", () => {
  const sendgrid = preset("sendgrid");
  const theirs = new EventWebhook();
  const key = theirs.convertPublicKeyToECDSA(presetKey(sendgrid, 1).configured);
  const ours = sampleOf(sendgrid);
  const signature = ours.headers["x-twilio-email-event-webhook-signature"] ?? "";
  const timestamp = ours.headers["x-twilio-email-event-webhook-timestamp"] ?? "";
  expect(theirs.verifySignature(key, text(ours), signature, timestamp)).toBe(true);
  expect(theirs.verifySignature(key, `${text(ours)} `, signature, timestamp)).toBe(false);
});

async function theirsAccepts(
  accepts: (delivery: OracleDelivery) => unknown,
  delivery: OracleDelivery,
): Promise<boolean> {
  try {
    return (await accepts(delivery)) !== false;
  } catch {
    return false;
  }
}

describe.each(Object.entries(sdkOracles).map(([name, { sdk, open }]) => [name, sdk, open] as const))(
  "%s and %s",
  (name, _sdk, open) => {
    const provider = preset(name);
    const theirs = open(presetKey(provider, 1).configured);
    test("theirs accepts what ours signs, and no changed body", async () => {
      const ours = sampleOf(provider, { timestampMs: Date.now() });
      const delivery = { headers: ours.headers, body: text(ours) };
      expect(await theirsAccepts(theirs.accepts, delivery)).toBe(true);
      // Where fields are signed, one of them; else the last byte that is no bracket.
      const changed = { ...delivery, body: delivery.body.replace(/4200|(?<=\w)(?=\W*$)/, "7") };
      expect(changed.body).not.toBe(delivery.body);
      expect(await theirsAccepts(theirs.accepts, changed)).toBe(false);
      expect(accepts(provider, { ...ours, body: Buffer.from(changed.body) })).toBe(false);
    });

    test("theirs refuses what ours signs under another secret, as ours does", async () => {
      const other = sampleOf(provider, { number: 2 });
      expect(await theirsAccepts(theirs.accepts, { headers: other.headers, body: text(other) })).toBe(false);
      expect(accepts(provider, other)).toBe(false);
    });

    // Most libraries only verify.
    if (theirs.signs === undefined) return;
    test("ours accepts what theirs signs, and no changed body", async () => {
      const { body } = sampleOf(provider);
      const headers = { ...(await theirs.signs?.(body.toString(), nowMs)) };
      expect(accepts(provider, { headers, body })).toBe(true);
      const changed = Buffer.from(body.toString().replace(/\w(?=\W*$)/, "_"));
      expect(accepts(provider, { headers, body: changed })).toBe(false);
    });
  },
);

test("a preset that names its provider's SDK is tried against it", () => {
  const others = ["stripe", "discord", "discordInteractions"];
  const claimed = Object.entries(catalogue).filter(([, { rules }]) => rules.proof === "the provider's SDK");
  expect(claimed.map(([name]) => name).filter((name) => !(name in sdkOracles) && !others.includes(name))).toEqual([]);
});
