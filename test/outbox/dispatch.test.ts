/** What is claimed, by whom, and that nothing waits for what does not concern it. */
import { describe, expect, test } from "vitest";
import { eventually } from "../../src/testing/eventually.ts";
import { startFakeProvider } from "../../src/testing/fake-provider.ts";
import { openOffice } from "./office.ts";

const minute = 60_000;

test("an effect that always fails neither repeats nor blocks its siblings, and spends its own budget", async () => {
  await using office = await openOffice();
  const broken = office.effect({ attemptsMax: 3 }, "broken/v1");
  const desk = await office.desk({ effects: [office.ship, broken] });
  office.provider.failWhen(({ ref }) =>
    ref?.startsWith("acme/order-2") ? { when: "before", kind: "answer", status: 503 } : undefined,
  );
  await desk.owe("order-1");
  await desk.owe("order-2", broken);
  await desk.owe("order-3");
  for (let n = 0; n < 5; n += 1) {
    await desk.work();
    office.clock.advance(minute);
  }
  expect([await desk.state("order-1"), await desk.state("order-2"), await desk.state("order-3")]).toEqual([
    "done",
    "stuck",
    "done",
  ]);
  expect(office.provider.counts().byRef).toMatchObject({
    "acme/order-1/fulfil/v1": { requests: 1, effects: 1 },
    "acme/order-2/fulfil/v1": { requests: 3, effects: 0 },
    "acme/order-3/fulfil/v1": { requests: 1, effects: 1 },
  });
  const keys = office.provider.requests.map(({ key }) => key);
  expect(new Set(keys).size).toBe(3);
});

test("a destination that hangs holds its own share and delays no other", async () => {
  await using office = await openOffice();
  await using hanging = await startFakeProvider();
  hanging.failWhen(() => ({ when: "before", kind: "hold" }));
  const dead = office.effect(
    {
      request: ({ input }) => ({ method: "POST", url: `${hanging.url}/v1/shipments`, json: input }),
      allow: [hanging.url],
    },
    "dead/v1",
  );
  const desk = await office.desk({ effects: [office.ship, dead], limits: { callsMax: 8, callsPerDestination: 4 } });
  // All of the dead destination's rows are older.
  for (let n = 0; n < 40; n += 1) await desk.owe(`dead-${n}`, dead);
  for (let n = 0; n < 40; n += 1) await desk.owe(`order-${n}`);
  desk.worker.start();
  await eventually(() => office.provider.counts().effects === 40);
  expect(hanging.held).toBe(4);
  expect(hanging.counts().requests).toBe(4);
});

test("an effect's own concurrency bounds its calls in flight", async () => {
  await using office = await openOffice();
  const desk = await office.desk({ effects: [office.effect({ concurrency: 2 })] });
  office.provider.failWhen(() => ({ when: "before", kind: "hold" }));
  for (let n = 0; n < 6; n += 1) await desk.owe(`order-${n}`);
  desk.worker.start();
  for (let ended = 0; ended < 6; ended += 2) {
    await eventually(() => office.provider.held === 2);
    expect(office.provider.counts().requests).toBe(ended + 2);
    office.provider.release();
    await eventually(() => office.provider.counts().effects === ended + 2);
  }
});

test("claims go on at once while there is room, however few a transaction may take", async () => {
  await using office = await openOffice({ limits: { claimMax: 2 } });
  const desk = await office.desk();
  office.provider.failWhen(() => ({ when: "before", kind: "hold" }));
  for (let n = 0; n < 6; n += 1) await desk.owe(`order-${n}`);
  desk.worker.start();
  // No time passes, and no call ends.
  await eventually(() => office.provider.held === 6);
  office.provider.release();
});

test("the transaction that ends a call claims into its slot", async () => {
  await using office = await openOffice();
  let turn = 0;
  const seen: (readonly [kind: string, turn: number])[] = [];
  const desk = await office.desk({
    effects: [office.effect({ concurrency: 1 })],
    onEvent: ({ kind }) => {
      seen.push([kind, turn]);
      setImmediate(() => (turn += 1));
    },
  });
  await desk.owe("order-1");
  await desk.owe("order-2");
  desk.worker.start();
  await eventually(() => office.provider.counts().effects === 2);
  const [, ended, started] = seen;
  expect([ended?.[0], started?.[0]]).toEqual(["attempt.ended", "attempt.started"]);
  expect(started?.[1]).toBe(ended?.[1]);
});

describe("an effect that this worker does not know", () => {
  test("is left alone for one that does, and none of its budget is spent", async () => {
    await using office = await openOffice();
    const newer = office.effect({}, "ship/v2");
    const old = await office.desk({ effects: [office.ship] });
    const desk = await office.desk({ effects: [office.ship, newer] });
    await desk.owe("order-1", newer);
    await old.work();
    expect((await desk.see("order-1")).obligation).toMatchObject({ state: "owed", tries: 0, fence: 0 });
    expect((await desk.see("order-1")).attempts).toEqual([]);
    await desk.work();
    expect(await desk.state("order-1")).toBe("done");
  });

  test("raises an alarm when nobody takes it, and not at every look", async () => {
    await using office = await openOffice();
    const removed = office.effect({}, "removed/v1");
    const desk = await office.desk({ effects: [office.ship, removed] });
    await desk.owe("order-1", removed);
    const left = await office.desk({ effects: [office.ship] });
    const alarms = (): number => left.kinds().filter((kind) => kind === "effect.unclaimed").length;
    await left.work();
    office.clock.advance(59_999);
    await left.work();
    expect(alarms()).toBe(0);
    office.clock.advance(1);
    await left.work();
    await left.work();
    expect(left.events).toContainEqual({ kind: "effect.unclaimed", effect: "removed/v1", count: 1 });
    expect(alarms()).toBe(1);
    office.clock.advance(60_000);
    await left.work();
    expect(alarms()).toBe(2);
    expect((await left.see("order-1")).obligation).toMatchObject({ state: "owed", tries: 0 });
  });
});

test("a worker that is busy with other effects still tells of one that nobody takes", async () => {
  await using office = await openOffice();
  const removed = office.effect({}, "removed/v1");
  const desk = await office.desk({ effects: [office.ship, removed] });
  await desk.owe("order-0", removed);
  const left = await office.desk({ effects: [office.ship] });
  left.worker.start();
  for (let n = 1; n <= 14; n += 1) {
    await left.owe(`order-${n}`);
    await eventually(async () => (await left.state(`order-${n}`)) === "done");
    office.clock.advance(5_000);
    await eventually(() => (left.worker.health().lastTickMs["dispatch"] ?? 1) === 0);
  }
  expect(left.kinds()).toContain("effect.unclaimed");
});

test("a commit wakes the worker of its process; polling finds what other processes owed", async () => {
  await using office = await openOffice();
  const desk = await office.desk();
  const other = await office.desk();
  desk.worker.start();
  await eventually(() => (desk.worker.health().lastTickMs["dispatch"] ?? 1) === 0);
  await desk.owe("order-1");
  // No time passes: only the wake can have started it.
  await eventually(async () => (await desk.state("order-1")) === "done");
  await other.owe("order-2");
  await eventually(async () => {
    office.clock.advance(100);
    return (await desk.state("order-2")) === "done";
  });
  // What has ended is watched no more; its worker hears of the end once that is on the disk.
  await eventually(() => desk.kinds().filter((kind) => kind === "attempt.ended").length === 2);
  office.clock.advance(minute);
  expect(desk.kinds()).not.toContain("lease.lost");
});

test("many workers on one file send each obligation once", async () => {
  await using office = await openOffice();
  const desks = await Promise.all([office.desk(), office.desk(), office.desk()]);
  for (let n = 0; n < 60; n += 1) await desks[n % 3]?.owe(`order-${n}`);
  for (const { worker } of desks) worker.start();
  await eventually(() => {
    office.clock.advance(100);
    return office.provider.counts().effects === 60;
  });
  expect(office.provider.counts()).toMatchObject({ requests: 60, effects: 60 });
});
