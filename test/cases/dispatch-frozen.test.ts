/** A request is what it was when it was owed, whatever code sends it. */
import type { Idempotency } from "counterfoil";
import { expect, test } from "vitest";
import { openOffice } from "../outbox/office.ts";

test.each<[string, Idempotency]>([
  ["goes into another header", { header: "X-Key", keyLifetime: "24h" }],
  ["goes into the body", { field: "key", keyLifetime: "24h" }],
  ["is cut to another length", { header: "Idempotency-Key", keyLifetime: "24h", lengthMax: 40 }],
  ["is no longer sent", "none"],
])(
  "a deployment after which the key %s stops what was owed before, and sends nothing twice",
  async (_name, idempotency) => {
    await using office = await openOffice();
    const before = await office.desk({
      effects: [office.effect({ idempotency: { header: "Idempotency-Key", keyLifetime: "24h" } })],
    });
    office.provider.failNext({ when: "after", kind: "reset" });
    await before.owe("order-1");
    await before.work();
    office.clock.advance(2_000);
    const after = await office.desk({ effects: [office.effect({ idempotency })] });
    await after.work();
    expect(office.provider.counts()).toMatchObject({ requests: 1, effects: 1 });
    const { obligation } = await after.see("order-1");
    expect(["stuck", "uncertain"]).toContain(obligation.state);
  },
);

test("a deployment between two attempts changes neither address, body nor key of what was owed before", async () => {
  await using office = await openOffice();
  const url = `${office.provider.url}/v1/shipments`;
  const older = office.effect({
    request: ({ input, key }) => ({
      method: "POST",
      url,
      json: { ...input, ref: key, builtAt: office.clock.wallMs() },
    }),
  });
  const newer = office.effect({
    request: ({ input, key }) => ({ method: "PUT", url: `${url}?v=2`, json: { ref: key, items: [input] } }),
  });
  const before = await office.desk({ effects: [older] });
  office.provider.failNext({ when: "after", kind: "reset" });
  await before.owe("order-1");
  await before.work();
  const { requestDigest } = await before.see("order-1");
  office.clock.advance(2_000);

  const after = await office.desk({ effects: [newer] });
  await after.owe("order-1");
  await after.work();
  const detail = await after.see("order-1");
  expect(detail.obligation.state).toBe("done");
  expect(detail.requestDigest).toBe(requestDigest);
  const [first, second] = office.provider.requests;
  expect(second).toMatchObject({ method: "POST", url: first?.url, body: first?.body, key: first?.key });
  expect(office.provider.counts()).toMatchObject({ requests: 2, effects: 1 });
});
