/** Whether anybody works off what is due, as an operator sees it. */
import { expect, test } from "vitest";
import { eventually } from "../../src/testing/eventually.ts";
import { Upkeep } from "../../src/worker/upkeep.ts";
import { openOffice } from "../outbox/office.ts";
import { machineClocks } from "../support/engine.ts";
import { answered, hour, open, operatorAt, target } from "./counter.ts";

const minute = 60_000;

test("without a worker due work shows how old it is and that nobody takes it, and one that starts is seen", async () => {
  const { office, desk, operator } = await open();
  office.clock.advance(10 * minute);
  const { now, due, workers, running, untaken } = await operator.status();
  expect({ workers, running, untaken }).toEqual({ workers: [], running: 0, untaken: ["ship/v1"] });
  expect(due).toEqual([{ effect: "ship/v1", at: now - 10 * minute }]);
  expect(await operator.attention()).toEqual([]);
  office.clock.advance(hour);
  expect(await operator.attention()).toMatchObject([{ kind: "effect", effect: "ship/v1", dueAt: now - 10 * minute }]);
  await desk.work();
  expect(await desk.state("order-1")).toBe("done");
  expect(await operator.status()).toMatchObject({
    due: [],
    running: 0,
    untaken: [],
    workers: [{ effects: ["ship/v1"], stoppedAt: expect.any(Number) }],
  });
  expect(await operator.attention()).toEqual([]);
});

test("a worker that is not seen for two lease times does not run, and is still told of", async () => {
  const { office, desk, operator } = await open();
  const sign = { name: "killed since", effects: ["ship/v1"], forgetMs: hour };
  await desk.runtime.store.transaction((tx) => tx.seeWorker(sign), { waitMs: 5_000 });
  const { leaseMs } = desk.runtime.limits;
  office.clock.advance(2 * leaseMs - 1);
  expect((await operator.status()).running).toBe(1);
  office.clock.advance(1);
  const { running, workers } = await operator.status();
  expect([running, workers.length]).toEqual([0, 1]);
});

test("a worker that ended in order does not run from then on, and one that is started again does", async () => {
  const { desk, operator } = await open();
  const running = async (): Promise<number> => (await operator.status()).running;
  for (let life = 0; life < 2; life += 1) {
    desk.worker.start();
    await eventually(async () => expect(await running()).toBe(1));
    await desk.worker.stop();
    expect(await operator.status()).toMatchObject({ running: 0, workers: [{ stoppedAt: expect.any(Number) }] });
  }
});

test("a sign of life that commits only after its worker's end does not make it run", async () => {
  const { office, operator } = await open();
  const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
  let signs = 0;
  const slow = await office.desk({ beforeTransaction: () => (signs++ === 0 ? held : Promise.resolve()) });
  const upkeep = new Upkeep(slow.runtime, "slow");
  const run = upkeep.run();
  await upkeep.leave();
  letGo();
  await run;
  expect(await operator.status()).toMatchObject({ running: 0, workers: [{ name: "slow" }] });
  upkeep.arrive();
  await upkeep.run();
  expect((await operator.status()).running).toBe(1);
});

test("a worker tells of itself once in a lease's time, however often it looks for work", async () => {
  await using office = await openOffice();
  let signs = 0;
  const desk = await office.desk();
  const { store } = desk.runtime;
  const seen = async (): Promise<number> => (await store.reader.counts()).workers[0]?.seenAt ?? 0;
  desk.worker.start();
  await eventually(async () => (await seen()) > 0);
  let last = await seen();
  for (let seconds = 0; seconds < 300; seconds += 5) {
    office.clock.advance(5_000);
    await eventually(() => (desk.worker.health().lastTickMs["upkeep"] ?? 0) < 20_000);
    const now = await seen();
    if (now !== last) signs += 1;
    last = now;
  }
  expect(signs).toBeGreaterThanOrEqual(3);
  expect(signs).toBeLessThanOrEqual(5);
});

test("work of an effect that no running worker takes is told apart", async () => {
  const { office, desk } = await open();
  const other = await office.desk({ effects: [office.effect({}, "ship/v2")] });
  other.worker.start();
  const operator = operatorAt(other);
  await eventually(async () => expect((await operator.status()).running).toBe(1));
  expect(await operator.status()).toMatchObject({ running: 1, untaken: ["ship/v1"] });
  desk.worker.start();
  await eventually(async () => expect(await operator.status()).toMatchObject({ running: 2, untaken: [] }));
});

test.runIf(machineClocks)(
  "an obligation that failed while the wall clock was a year ahead is tried again, not in a year",
  async () => {
    const { office, desk, operator } = await open();
    office.provider.failNext(answered(503));
    office.clock.stepWall(365 * 24 * hour);
    await desk.work();
    office.clock.stepWall(-365 * 24 * hour);
    const far = (await desk.see("order-1")).obligation.dueAt ?? 0;
    expect(far - (await operator.status()).now).toBeGreaterThan(364 * 24 * hour);
    office.clock.advance(desk.runtime.limits.leaseMs);
    await desk.work();
    office.clock.advance(desk.runtime.limits.retryAfterMaxMs);
    await desk.work();
    expect(await desk.state("order-1")).toBe("done");
    expect(office.provider.counts()).toMatchObject({ requests: 2, effects: 1 });
    expect((await operator.obligation(target.tenant, target.operationKey)).next.needsOperator).toBe(false);
  },
);
