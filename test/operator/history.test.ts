import { Metrics } from "counterfoil";
import { expect, test } from "vitest";
import { startFakeProvider } from "../../src/testing/fake-provider.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { openApp, orderApp, payment, placeOrders, temporaryDatabase } from "../support/order-app.ts";

test("every delivery and every attempt stays to be read, and the totals add up", async () => {
  await using stack = new AsyncDisposableStack();
  const { address } = stack.use(await temporaryDatabase());
  const carrier = stack.use(await startFakeProvider());
  const clock = new VirtualClock({ wallMs: Date.now() });
  const { app } = stack.use(await openApp(orderApp(address, { carrier: carrier.url, clock })));
  const metrics = new Metrics();
  app.subscribe(metrics.emit);
  await placeOrders(app, "order-1");
  const deliver = async (forged = false): Promise<number> => {
    const { headers, body } = payment("evt_1");
    const sent = forged ? Buffer.concat([body, Buffer.from(" ")]) : new Uint8Array(body);
    return (await app.fetch(new Request("http://localhost/hooks/stripe", { method: "POST", headers, body: sent })))
      .status;
  };
  expect([await deliver(), await deliver(), await deliver(true), await deliver()]).toEqual([200, 200, 401, 200]);

  carrier.failNext(
    { when: "before", kind: "answer", status: 503 },
    { when: "before", kind: "answer", status: 429 },
    { when: "before", kind: "reset" },
    { when: "after", kind: "reset" },
  );
  for (let attempt = 1; attempt <= 5; attempt += 1) {
    await app.drain();
    clock.advance(2 * 60_000);
  }
  const operator = app.operator({ who: "ada" });
  const { attempts, obligation } = await operator.obligation("tenant-a", "order-1/fulfil/v1");
  expect(obligation.state).toBe("done");
  expect(attempts.map(({ fence, verdict, status }) => [fence, verdict, status])).toEqual([
    [1, "again", 503],
    [2, "again", 429],
    [3, "unknown", null],
    [4, "unknown", null],
    [5, "done", 201],
  ]);
  for (const { startedAt, endedAt, generation, kind } of attempts) {
    expect([kind, generation]).toEqual(["send", 1]);
    expect(endedAt).toBeGreaterThanOrEqual(startedAt);
  }
  const { receipt, redeliveries } = await operator.receipt(1);
  expect([receipt.deliveries, redeliveries.length]).toEqual([3, 2]);
  expect(await operator.status()).toMatchObject({ deliveries: 3, receipts: { applied: 1 } });
  expect(metrics.render()).toContain('counterfoil_refusals_total{connection="stripe",code="SIGNATURE_REFUSED"');
  expect(carrier.counts()).toMatchObject({ requests: 5, effects: 1 });
});
