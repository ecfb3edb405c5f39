/** The refund example, by Stripe's own SDK against a server that keeps keys as Stripe does. */
import { Stripe } from "stripe";
import { expect, test } from "vitest";
import { type Refund, refundBy } from "../../examples/refunds/refund.ts";
import { transact } from "../../src/work/transact.ts";
import { runUnit } from "../../src/work/unit.ts";
import { type FakeStripe, startFakeStripe } from "../support/fake-stripe.ts";
import { freePort } from "../support/free-port.ts";
import { type Desk, type Office, openOffice, tenant } from "./office.ts";

const hour = 3_600_000;

async function refundDesk(office: Office, port: number): Promise<Desk> {
  const stripe = new Stripe("sk_test_of_nobody", { host: "127.0.0.1", port, protocol: "http", maxNetworkRetries: 0 });
  const refund = refundBy(stripe);
  const desk = await office.desk({ effects: [refund as never] });
  const { runtime } = desk;
  await transact(runtime, (tx, signals) =>
    runUnit(tx, { scope: { tenant, connection: "", account: "", receiptId: null }, runtime, signals }, (work) =>
      work.owe<Refund>(refund, {
        key: ["order-1", "fulfil", "v1"],
        input: { paymentIntent: "pi_1", amount: 1200 },
      }),
    ),
  );
  return desk;
}

async function workOn(office: Office, desk: Desk, rounds = 4): Promise<void> {
  for (let n = 0; n < rounds; n += 1) {
    await desk.work();
    office.clock.advance(hour);
  }
}

function refunded({ refunds }: FakeStripe): readonly string[] {
  return refunds.map(({ payment_intent: paid, amount, metadata }) => [paid, amount, metadata["operation"]].join(" "));
}

const once = ["pi_1 1200 acme/order-1/fulfil/v1"];

test("is made, with the key that was derived from the operation", async () => {
  await using office = await openOffice();
  await using stripe = await startFakeStripe();
  const desk = await refundDesk(office, stripe.port);
  await desk.work();
  const { obligation, answer, request, attempts } = await desk.see("order-1");
  expect(obligation).toMatchObject({ state: "done", destination: "https://api.stripe.com", reached: "yes" });
  expect(JSON.parse(new TextDecoder().decode(answer?.body))).toEqual({ id: "re_1" });
  expect(request).toMatchObject({ method: "SEND", url: "https://api.stripe.com" });
  expect(attempts).toMatchObject([{ kind: "send", verdict: "done" }]);
  expect(refunded(stripe)).toEqual(once);
});

test("whose answer was lost is asked for again under its key, and exists once", async () => {
  await using office = await openOffice();
  await using stripe = await startFakeStripe();
  stripe.fail("lost answer", "lost answer", "lost request", "lost request");
  const desk = await refundDesk(office, stripe.port);
  await workOn(office, desk);
  expect(await desk.state("order-1")).toBe("done");
  expect(new Set(stripe.keys).size).toBe(1);
  expect(stripe.keys).toHaveLength(5);
  expect(refunded(stripe)).toEqual(once);
});

test("whose key has expired meanwhile is looked up, and found", async () => {
  await using office = await openOffice();
  await using stripe = await startFakeStripe();
  // The SDK repeats a call once whose connection was closed, under the same key.
  stripe.fail("lost answer", "lost answer");
  const desk = await refundDesk(office, stripe.port);
  await desk.work();
  office.clock.advance(48 * hour);
  await workOn(office, desk);
  expect(await desk.state("order-1")).toBe("done");
  expect((await desk.see("order-1")).attempts.map(({ kind }) => kind)).toContain("lookup");
  expect(new Set(stripe.keys).size).toBe(1);
  expect(stripe.keys).toHaveLength(2);
  expect(refunded(stripe)).toEqual(once);
});

test("that was never heard of after its key had expired is made under another one", async () => {
  await using office = await openOffice();
  await using stripe = await startFakeStripe();
  stripe.fail("lost request", "lost request");
  const desk = await refundDesk(office, stripe.port);
  await desk.work();
  office.clock.advance(48 * hour);
  await workOn(office, desk);
  expect(await desk.state("order-1")).toBe("done");
  expect(new Set(stripe.keys).size).toBe(2);
  expect(refunded(stripe)).toEqual(once);
});

test("that Stripe refuses is the operator's, with Stripe's word for it", async () => {
  await using office = await openOffice();
  await using stripe = await startFakeStripe();
  stripe.fail({ status: 404, code: "resource_missing" });
  const desk = await refundDesk(office, stripe.port);
  await desk.work();
  expect((await desk.see("order-1")).obligation).toMatchObject({
    state: "stuck",
    reached: "no",
    reason: "status 404: resource_missing",
  });
});

test("that meets nobody who listens was not sent, and costs nothing but time", async () => {
  await using office = await openOffice();
  const desk = await refundDesk(office, await freePort());
  await desk.work();
  expect((await desk.see("order-1")).obligation).toMatchObject({
    state: "owed",
    reached: "no",
    reason: "nobody listens",
  });
});
