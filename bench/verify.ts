/**
 * What verification costs for each preset: its own sample, signed by its own scheme, judged again and again
 * in one thread. Beside it the provider's library, where there is one that verifies.
 */
import { verify as verifyGithub } from "@octokit/webhooks-methods";
import { EventWebhook } from "@sendgrid/eventwebhook";
import { verifyKey } from "discord-interactions";
import { Webhook } from "standardwebhooks";
import { Stripe } from "stripe";
import { catalogue } from "../src/providers/catalogue.ts";
import type { ProviderData } from "../src/providers/provider.ts";
import { sampleDelivery, type SignedDelivery } from "../src/providers/sample-delivery.ts";
import { headersFromRaw } from "../src/verify/delivery-headers.ts";
import { verify, verifyFetching } from "../src/verify/verify.ts";
import { keyringOf, presetKey, publicUrl } from "../test/kit/preset-keys.ts";
import { sdkOracles } from "../test/kit/sdk-oracles.ts";

/** Microseconds for one verification, medians of the rounds. */
export interface VerifyCost {
  readonly preset: string;
  readonly ours: number;
  /** The provider's own library; `null` where none is measured. */
  readonly theirs: number | null;
}

/** Measures each preset for so long in each round. */
export async function verifyCosts({ rounds, seconds }: { rounds: number; seconds: number }): Promise<VerifyCost[]> {
  const costs: VerifyCost[] = [];
  const forMs = (seconds * 1_000) / rounds;
  for (const [preset, provider] of Object.entries(catalogue)) {
    // Some libraries accept nothing older than 5 s by the machine's clock; all take what is a little ahead of it.
    const atMs = (Math.floor(Date.now() / 1_000) + 30) * 1_000;
    const sample = sampleOf(provider, atMs);
    const ours = await ourVerify(provider, sample, atMs);
    const theirs = theirVerify(preset, provider, sample);
    if (theirs !== undefined && (await theirs()) === false) throw new Error(`Cannot measure ${preset}: theirs refuses`);
    const found: { ours: number[]; theirs: number[] } = { ours: [], theirs: [] };
    for (let round = 0; round < rounds; round++) {
      found.ours.push(await microseconds(ours, forMs));
      if (theirs !== undefined) found.theirs.push(await microseconds(theirs, forMs));
    }
    costs.push({ preset, ours: median(found.ours), theirs: theirs === undefined ? null : median(found.theirs) });
  }
  return costs;
}

type Once = () => unknown;

function sampleOf(provider: ProviderData, timestampMs: number): SignedDelivery {
  const { rules } = provider;
  const { signing: secret } = presetKey(provider, 1);
  const type = Object.keys(rules.samples)[0] ?? "";
  return sampleDelivery(rules, { secret, type, id: "msg_1", timestampMs, publicUrl });
}

async function ourVerify(
  provider: ProviderData,
  { headers, body, suffix = "" }: SignedDelivery,
  arrivedAtMs: number,
): Promise<Once> {
  const keyring = keyringOf(provider, [presetKey(provider, 1)]);
  const raw = headersFromRaw(Object.entries(headers).flat());
  const delivery = { headers: raw, body, arrivedAtMs, target: `/hooks/preset${suffix}` };
  const verdict = await verifyFetching(keyring, delivery);
  if (verdict.kind === "refused") throw new Error(`Cannot measure ${provider.name}: ${verdict.cause}`);
  return () => verify(keyring, delivery);
}

function theirVerify(preset: string, provider: ProviderData, { headers, body }: SignedDelivery): Once | undefined {
  const { configured } = presetKey(provider, 1);
  const text = Buffer.from(body).toString();
  const header = (name: string): string => headers[name] ?? "";
  switch (preset) {
    case "stripe": {
      const sdk = new Stripe("sk_test_unused");
      return () => sdk.webhooks.constructEvent(text, header("stripe-signature"), configured, 1e9);
    }
    case "github":
      return () => verifyGithub(configured, text, header("x-hub-signature-256"));
    case "standardWebhooks": {
      const sdk = new Webhook(configured);
      return () => sdk.verify(text, headers);
    }
    case "discord":
    case "discordInteractions":
      return () => verifyKey(text, header("x-signature-ed25519"), header("x-signature-timestamp"), configured);
    case "sendgrid": {
      const sdk = new EventWebhook();
      const key = sdk.convertPublicKeyToECDSA(configured);
      const [signature, sentAt] = ["signature", "timestamp"].map((end) =>
        header(`x-twilio-email-event-webhook-${end}`),
      );
      return () => sdk.verifySignature(key, text, signature ?? "", sentAt ?? "");
    }
    default: {
      const theirs = sdkOracles[preset]?.open(configured);
      return theirs && (() => theirs.accepts({ headers, body: text }));
    }
  }
}

async function microseconds(once: Once, forMs: number): Promise<number> {
  for (let warm = 0; warm < 20; warm++) await once();
  const startedMs = performance.now();
  let times = 0;
  for (let passedMs = 0; passedMs < forMs; passedMs = performance.now() - startedMs) {
    for (let each = 0; each < 10; each++) {
      const result = once();
      if (result instanceof Promise) await result;
    }
    times += 10;
  }
  return ((performance.now() - startedMs) * 1_000) / times;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  return Number((sorted[Math.floor(sorted.length / 2)] ?? 0).toFixed(1));
}
