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

function sampleOf(provider: ProviderData): SignedDelivery {
  const { rules } = provider;
  const { signing: secret } = presetKey(provider, 1);
  const type = Object.keys(rules.samples)[0] ?? "";
  return sampleDelivery(rules, { secret, type, id: "msg_1", timestampMs: nowMs, publicUrl });
}

function accepts(provider: ProviderData, { headers, body }: SignedDelivery): boolean {
  const raw = headersFromRaw(Object.entries(headers).flat());
  return (
    verify(keyringOf(provider, [presetKey(provider, 1)]), { headers: raw, body, arrivedAtMs: nowMs }).kind ===
    "verified"
  );
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
