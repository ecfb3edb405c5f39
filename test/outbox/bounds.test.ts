/** Bounds by destination: a breaker, a rate, and rows without number that concern nobody else. */
import { describe, expect, test } from "vitest";
import { defaults } from "../../src/domain/limits.ts";
import { checkEffect } from "../../src/outbox/check-effect.ts";
import { obligationDraft } from "../../src/store/conformance/drafts.conformance.ts";
import { eventually } from "../../src/testing/eventually.ts";
import { requestDigest } from "../../src/work/owe.ts";
import { transact } from "../../src/work/transact.ts";
import { freePort } from "../support/free-port.ts";
import { type Desk, openOffice, tenant } from "./office.ts";

/** Calls that ended, by destination or effect. */
function calls({ events }: Desk, effect: string): number {
  return events.filter((event) => event.kind === "attempt.ended" && event.effect === effect).length;
}

test(
  "ten thousand due rows of a dead destination delay no other, and cost a handful of calls",
  { timeout: 120_000 },
  async () => {
    await using office = await openOffice();
    const url = `http://127.0.0.1:${await freePort()}`;
    const dead = office.effect({ allow: [url] }, "dead/v1");
    const desk = await office.desk({ effects: [office.ship, dead], limits: { breakerFailures: 5 } });
    const request = { method: "POST", url: `${url}/v1/shipments`, contentType: null, body: null };
    const digest = requestDigest(request, dead.definition.idempotency);
    for (let batch = 0; batch < 20; batch += 1) {
      const drafts = Array.from({ length: 500 }, (_, n) =>
        obligationDraft({
          tenant,
          operationKey: `dead/${batch}/${n}`,
          effect: "dead/v1",
          destination: url,
          request,
          requestDigest: digest,
        }),
      );
      await transact(desk.runtime, (tx) => tx.owe(drafts));
    }
    for (let n = 0; n < 40; n += 1) await desk.owe(`order-${n}`, office.ship);
    desk.worker.start();
    await eventually(() => office.provider.counts().effects === 40);
    // Time stands still: what was in flight when the breaker opened, and not one more.
    expect(desk.kinds()).toContain("breaker.opened");
    expect(calls(desk, "dead/v1")).toBeLessThanOrEqual(4 + defaults.callsPerDestination);
  },
);

describe("a destination that does not answer", () => {
  test("is left alone, tried with one call at a time, and used again once it answers", async () => {
    await using office = await openOffice({
      limits: { breakerFailures: 4, breakerFirstMs: 30_000, breakerMaxMs: 50_000 },
    });
    const desk = await office.desk({ limits: { callsPerDestination: 1 } });
    office.provider.failWhen(() => ({ when: "before", kind: "reset" }));
    for (let n = 0; n < 20; n += 1) await desk.owe(`order-${n}`);
    await desk.work();
    expect(office.provider.counts().requests).toBe(4);
    expect(desk.events.filter(({ kind }) => kind === "breaker.opened")).toEqual([
      { kind: "breaker.opened", destination: office.provider.url, forMs: 30_000 },
    ]);
    await desk.work();
    expect(office.provider.counts().requests).toBe(4);
    office.clock.advance(30_000);
    await desk.work();
    expect(office.provider.counts().requests).toBe(5);
    office.clock.advance(49_999);
    await desk.work();
    expect(office.provider.counts().requests).toBe(5);
    office.provider.failWhen(() => undefined);
    office.clock.advance(1);
    await desk.work();
    expect(office.provider.counts().effects).toBe(20);
    expect(desk.kinds().filter((kind) => kind === "breaker.closed")).toHaveLength(1);
  });

  test("is told from one that refuses what it is sent, or asks for patience", async () => {
    await using office = await openOffice({ limits: { breakerFailures: 2 } });
    const desk = await office.desk();
    office.provider.failWhen(() => ({ when: "before", kind: "answer", status: 422 }));
    for (let n = 0; n < 8; n += 1) await desk.owe(`order-${n}`);
    await desk.work();
    expect(office.provider.counts().requests).toBe(8);
    office.provider.failWhen(() => ({ when: "before", kind: "answer", status: 429 }));
    for (let n = 8; n < 16; n += 1) await desk.owe(`order-${n}`);
    await desk.work();
    expect(desk.kinds()).not.toContain("breaker.opened");
  });

  test("concerns its own calls alone: hooks of what took effect there run on", async () => {
    await using office = await openOffice({ limits: { breakerFailures: 1, breakerFirstMs: 60_000 } });
    let broken = true;
    const ship = office.effect({
      settled: () => {
        if (broken) throw new TypeError("the hook is broken");
      },
    });
    const desk = await office.desk({ effects: [ship] });
    await desk.owe("order-1");
    await desk.work();
    broken = false;
    office.provider.failWhen(() => ({ when: "before", kind: "reset" }));
    await desk.owe("order-2");
    await desk.work();
    office.clock.advance(59_000);
    await desk.work();
    expect([await desk.state("order-1"), await desk.state("order-2")]).toEqual(["done", "owed"]);
  });
});

describe("a rate", () => {
  test("bounds how many calls begin in a time, whatever is due", async () => {
    await using office = await openOffice();
    const desk = await office.desk({ effects: [office.effect({ rate: { calls: 3, per: "10s" } })] });
    for (let n = 0; n < 12; n += 1) await desk.owe(`order-${n}`);
    await desk.work();
    expect(office.provider.counts().requests).toBe(3);
    office.clock.advance(3_000);
    await desk.work();
    expect(office.provider.counts().requests).toBe(3);
    office.clock.advance(1_000);
    await desk.work();
    expect(office.provider.counts().requests).toBe(4);
    office.clock.advance(3_600_000);
    await desk.work();
    expect(office.provider.counts().requests).toBe(7);
  });

  test("of a small time does not wait for polls", async () => {
    await using office = await openOffice({ limits: { pollMs: 30_000 } });
    const desk = await office.desk({ effects: [office.effect({ rate: { calls: 1, per: "100ms" } })] });
    for (let n = 0; n < 3; n += 1) await desk.owe(`order-${n}`);
    desk.worker.start();
    for (let n = 1; n <= 3; n += 1) {
      await eventually(() => office.provider.counts().requests === n);
      office.clock.advance(100);
    }
  });

  test.each([
    [{ calls: 0, per: "1s" }, "its rate.calls must be a whole number from 1"],
    [{ calls: 1, per: "0s" }, "its rate is per no time at all"],
  ] as const)("of %j is refused", async (rate, problem) => {
    await using office = await openOffice();
    expect(checkEffect(office.effect({ rate }).definition, defaults)).toBe(problem);
  });
});
