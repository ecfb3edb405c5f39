/** Refusals can be told apart afterwards, and nobody can fill the disk with them. */
import { connect } from "counterfoil";
import { stripe } from "counterfoil/providers";
import { expect, test } from "vitest";
import { sampleDelivery } from "../../src/providers/sample-delivery.ts";
import type { RefusalFacts } from "../../src/store/records.ts";
import { eventually } from "../../src/testing/eventually.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { caseSecret, startCase } from "../support/case-server.ts";

const connection = connect("stripe", { provider: stripe, secrets: [caseSecret], tenant: "acme", handlers: [] });

async function refusing(refusalsKept = 1_000) {
  const clock = new VirtualClock({ wallMs: Date.now() });
  const server = await startCase({ connections: [connection], clock, limits: { refusalsKept } });
  const { reader } = server.app.runtime.store;
  /** Lets the ring be written, and reads the newest. */
  const kept = async (count: number): Promise<readonly RefusalFacts[]> => {
    clock.advance(1_000);
    await eventually(async () => (await reader.refusals({ limit: 2_000 })).length >= count);
    return reader.refusals({ limit: 2_000 });
  };
  const signed = (secret = caseSecret, aheadMs = 0) => {
    const options = { secret, type: "charge.refunded", id: "evt-canary", timestampMs: clock.wallMs() + aheadMs };
    return sampleDelivery(stripe.rules, options);
  };
  return { server, clock, signed, kept };
}

test("each refused delivery leaves a named cause and facts that tell body, secret, clock and proxy apart, and no content", async () => {
  const { server, signed, kept } = await refusing();
  const good = signed();
  const recoded = Buffer.from(JSON.stringify(JSON.parse(Buffer.from(good.body).toString()), null, 1));
  const { "stripe-signature": _signature, ...unsigned } = good.headers;
  const bad = [
    signed("the secret of another endpoint"),
    { ...good, body: recoded },
    signed(caseSecret, -412_000),
    { ...good, headers: unsigned },
  ];
  for (const delivery of bad) expect(await server.post(delivery, "stripe")).toMatchObject({ status: 401 });
  const refusals = (await kept(4)).toReversed();
  expect(refusals.map(({ cause }) => cause)).toEqual([
    "signature_mismatch",
    "signature_mismatch",
    "timestamp_too_old",
    "missing_signature",
  ]);
  const facts = refusals.map((refusal) => JSON.parse(refusal.facts) as Readonly<Record<string, unknown>>);
  // The same body under another secret, and another body: the digest tells which of the two it was.
  expect(facts[0]).toMatchObject({ bodyBytes: good.body.length, bodySha256: facts[3]?.["bodySha256"] });
  expect(facts[1]).toMatchObject({ bodyBytes: recoded.length, contentType: "application/json" });
  expect(facts[1]?.["bodySha256"]).not.toBe(facts[3]?.["bodySha256"]);
  expect(facts[2]).toMatchObject({ allowedMs: 300_000, secretIds: [expect.stringMatching(/^[0-9a-f]{8}$/)] });
  // By the machine's clock: as old as it was signed to be, and as slow as the machine was.
  expect(Number(facts[2]?.["skewMs"])).toBeGreaterThanOrEqual(411_000);
  expect(facts[3]).not.toHaveProperty("signatureChars");
  const all = JSON.stringify(refusals);
  const secrets = [caseSecret, "evt-canary", good.headers["stripe-signature"] ?? "", "pi_sample"];
  expect(secrets.filter((canary) => all.includes(canary))).toEqual([]);
  const { refusals: byCause } = await server.app.operator({ who: "test" }).status();
  expect(byCause).toEqual({ signature_mismatch: 2, timestamp_too_old: 1, missing_signature: 1 });
  expect(server.events.filter(({ kind }) => kind === "delivery.refused")).toHaveLength(4);
});

test("an attack fills a bounded ring with its latest refusals, written once a second, and stores no event", async () => {
  const { server, signed, kept } = await refusing(20);
  const attack = async (count: number): Promise<void> => {
    const sent = Array.from({ length: count }, () => server.post(signed("the secret of an attacker"), "stripe"));
    expect(new Set((await Promise.all(sent)).map(({ status }) => status))).toEqual(new Set([401]));
  };
  await attack(150);
  expect(await kept(20)).toHaveLength(20);
  await attack(5);
  const { headers } = signed();
  await server.post({ headers: { ...headers, "stripe-signature": "junk" }, body: Buffer.alloc(0) }, "stripe");
  await eventually(async () => (await kept(20))[0]?.cause === "malformed_signature");
  expect(await kept(20)).toHaveLength(20);
  expect(server.events.filter(({ kind }) => kind === "delivery.refused")).toHaveLength(156);
  expect(await server.outcomes()).toEqual([]);
});
