/** Times are judged once, when a delivery comes in: what is kept was right then. */
import { connect } from "counterfoil";
import { stripe } from "counterfoil/providers";
import { expect, test } from "vitest";
import { sampleDelivery } from "../../src/providers/sample-delivery.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { caseSecret, startCase } from "../support/case-server.ts";

const refunded = stripe.on("charge.refunded", async ({ event, tx }) => {
  await tx.sql`INSERT INTO refunds VALUES (${event.id}) ON CONFLICT DO NOTHING`;
});

async function refunds() {
  const clock = new VirtualClock({ wallMs: Date.now() });
  const server = await startCase({
    connections: [connect("stripe", { provider: stripe, secrets: [caseSecret], tenant: "acme", handlers: [refunded] })],
    tables: ["CREATE TABLE refunds (event TEXT PRIMARY KEY)"],
    clock,
  });
  const signed = (aheadMs = 0) => {
    const options = { secret: caseSecret, type: "charge.refunded", id: "evt-1", timestampMs: clock.wallMs() + aheadMs };
    return sampleDelivery(stripe.rules, options);
  };
  return { clock, server, signed };
}

test("an event is read again from the store days later, where the same bytes from the network are too old", async () => {
  const { clock, server, signed } = await refunds();
  const delivery = signed();
  expect(await server.post(delivery, "stripe")).toMatchObject({ status: 200, outcome: "applied" });
  await server.rows("DELETE FROM refunds");
  clock.advance(2.9 * 24 * 3_600_000);
  expect(await server.post(delivery, "stripe")).toEqual({ status: 401, error: "SIGNATURE_REFUSED" });
  const operator = server.app.operator({ who: "test" });
  const [receipt] = await operator.receipts();
  expect(await operator.reprocess({ receiptId: receipt!.id })).toMatchObject({ changed: true });
  expect(await server.rows("SELECT event FROM refunds")).toEqual([{ event: "evt-1" }]);
});

test("a captured delivery that is sent again while its time still counts is a duplicate", async () => {
  const { clock, server, signed } = await refunds();
  const ahead = signed(300_000 - 1_000);
  expect(await server.post(ahead, "stripe")).toMatchObject({ status: 200, outcome: "applied" });
  clock.advance(600_000 - 2_000);
  expect(await server.post(ahead, "stripe")).toMatchObject({ status: 200, outcome: "duplicate", first: "applied" });
});

test.each(["", "t=,v1=aa", "t=1e9,v1=aa", "t=123=junk,v1=aa", "t=1,t=2,v1=aa", "v1=aa"])(
  "the timestamp of %j is 401 over HTTP, never 500",
  async (signature) => {
    const { server, signed } = await refunds();
    const { headers, body } = signed();
    const answer = await server.post({ headers: { ...headers, "stripe-signature": signature }, body }, "stripe");
    expect(answer).toEqual({ status: 401, error: "SIGNATURE_REFUSED" });
  },
);
