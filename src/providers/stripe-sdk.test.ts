/** Stripe's own SDK as the oracle: signed by theirs and accepted by ours, signed by ours and accepted by theirs. */
import { Stripe } from "stripe";
import { describe, expect, test } from "vitest";
import { headersFromRaw } from "../verify/delivery-headers.ts";
import { openKeyring } from "../verify/keyring.ts";
import { verify } from "../verify/verify.ts";
import { sampleDelivery } from "./sample-delivery.ts";
import { stripe } from "./stripe.ts";

const sdk = new Stripe("sk_test_unused");
const secret = "whsec_a_secret_that_is_not_base64!";
const payload = '{"id":"evt_1","object":"event","type":"charge.refunded","data":{"object":{"name":"Zoë"}}}';

function verdictOf(signature: string, arrivedAtMs: number): string {
  const keyring = openKeyring(stripe.rules.schemes, [secret]);
  if (keyring.kind === "unusable") throw new Error(keyring.message);
  const headers = headersFromRaw(["Stripe-Signature", signature]);
  const verdict = verify(keyring, { headers, body: Buffer.from(payload), arrivedAtMs });
  return verdict.kind === "refused" ? verdict.cause : verdict.kind;
}

describe("stripe and its SDK", () => {
  test("ours accepts what theirs signs", () => {
    const timestamp = 1_767_225_600;
    const signature = sdk.webhooks.generateTestHeaderString({ payload, secret, timestamp });
    expect(verdictOf(signature, timestamp * 1_000)).toBe("verified");
    expect(verdictOf(signature, (timestamp + 301) * 1_000)).toBe("timestamp_too_old");
    // Theirs would accept this one.
    expect(verdictOf(signature, (timestamp - 301) * 1_000)).toBe("timestamp_in_future");
  });

  test("theirs accepts what ours signs", () => {
    const timestampMs = 1_767_225_600_000;
    const { headers, body } = sampleDelivery(stripe.rules, {
      secret,
      type: "charge.refunded",
      id: "evt_7",
      timestampMs,
    });
    const signature = headers["stripe-signature"] ?? "";
    const event = sdk.webhooks.constructEvent(Buffer.from(body), signature, secret, 300, undefined, timestampMs);
    expect([event.id, event.type]).toEqual(["evt_7", "charge.refunded"]);
    expect(() =>
      sdk.webhooks.constructEvent(Buffer.from(body), signature, `${secret}x`, 300, undefined, timestampMs),
    ).toThrow();
  });
});
