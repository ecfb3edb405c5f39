/** Loops that must not stop: through a store that is away, and work that throws. */
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { eventually } from "../../src/testing/eventually.ts";
import { openOffice } from "../outbox/office.ts";

test("a store that is away for a while is told once, and work goes on by itself when it is back", async () => {
  await using office = await openOffice({ limits: { lockMs: 20 } });
  const desk = await office.desk();
  desk.worker.start();
  await eventually(() => (desk.worker.health().lastTickMs["dispatch"] ?? 1) === 0);
  const lock = await office.database.lock({ reads: true });
  const failures = (): number =>
    desk.events.filter((event) => event.kind === "loop.failed" && event.loop === "dispatch").length;
  for (let minutes = 0; minutes < 10; minutes += 1) {
    office.clock.advance(60_000);
    await eventually(() => failures() === 1 && (desk.worker.health().lastTickMs["dispatch"] ?? 1) === 0);
  }
  await eventually(() => desk.worker.health().live);
  expect(desk.events).toContainEqual(
    expect.objectContaining({ kind: "loop.failed", loop: "dispatch", code: "STORE_BUSY" }),
  );
  await lock[Symbol.asyncDispose]();
  await desk.owe("order-1");
  await eventually(async () => {
    office.clock.advance(1_000);
    return (await desk.state("order-1")) === "done";
  });
  expect(failures()).toBe(1);
  expect(desk.events.filter((event) => event.kind === "loop.recovered" && event.loop === "dispatch")).toHaveLength(1);
});

test("calls that keep ending do not keep a worker from looking for what another process owed", async () => {
  await using office = await openOffice();
  const answered = { kind: "answered", reached: "yes", phase: "complete", headers: {}, truncated: false } as const;
  let begun = 0;
  const desk = await office.desk({
    call: () => {
      begun += 1;
      const { promise, resolve } = Promise.withResolvers<void>();
      office.clock.timer(begun * 200, resolve);
      return promise.then(() => ({ ...answered, status: 200, body: new TextEncoder().encode('{"id":"s-1"}') }));
    },
  });
  for (let n = 0; n < 15; n += 1) await desk.owe(`order-${n}`);
  desk.worker.start();
  await eventually(() => begun === 15);
  // Its commit wakes nobody here, as that of a receiver in a process of its own.
  const receiver = await office.desk();
  await receiver.owe("late");
  const ended = (): number => desk.kinds().filter((kind) => kind === "attempt.ended").length;
  const turnEnded = (): boolean => desk.worker.health().lastTickMs["dispatch"] === 0;
  for (let n = 1; n <= 8; n += 1) {
    office.clock.advance(200);
    await eventually(() => ended() === n && turnEnded());
  }
  // 1.6 s, and not once as much as an interval without an end.
  expect(begun).toBe(16);
  office.clock.advance(16 * 200);
  await eventually(() => ended() === 16);
});

test("an inbox that throws is told once and stops nothing else", async () => {
  await using office = await openOffice();
  let runs = 0;
  const desk = await office.desk({
    applyDue: () => {
      runs += 1;
      return runs > 3 ? Promise.resolve(false) : Promise.reject(new TypeError("s3cret"));
    },
  });
  desk.worker.start();
  await desk.owe("order-1");
  await eventually(async () => (await desk.state("order-1")) === "done");
  await eventually(() => {
    office.clock.advance(60_000);
    return desk.kinds().includes("loop.recovered");
  });
  const told = desk.events.filter(({ kind }) => kind === "loop.failed" || kind === "loop.recovered");
  expect(told).toEqual([
    { kind: "loop.failed", loop: "inbox", code: "UNEXPECTED", summary: expect.stringContaining("TypeError") as string },
    { kind: "loop.recovered", loop: "inbox" },
  ]);
  expect(JSON.stringify(told)).not.toContain("s3cret");
});

test("an arrival wakes the inbox, and what it applies is sent at once", async () => {
  await using office = await openOffice();
  let waiting = false;
  const desk = await office.desk({
    applyDue: async () => {
      if (!waiting) return false;
      waiting = false;
      await desk.owe("order-1");
      return true;
    },
  });
  desk.worker.start();
  await eventually(() => (desk.worker.health().lastTickMs["inbox"] ?? 1) === 0);
  waiting = true;
  desk.runtime.wake.committed({ owed: false, arrived: true });
  await eventually(async () => (await desk.state("order-1")) === "done");
});

test("a loop that hangs shows in the worker's health", async () => {
  await using office = await openOffice();
  const { promise: hanging, resolve: release } = Promise.withResolvers<boolean>();
  const desk = await office.desk({ applyDue: () => hanging });
  desk.worker.start();
  await eventually(() => (desk.worker.health().lastTickMs["dispatch"] ?? 1) === 0);
  expect(desk.worker.health().live).toBe(true);
  await eventually(() => {
    office.clock.advance(1_000);
    return !desk.worker.health().live;
  });
  expect(desk.worker.health().lastTickMs["inbox"]).toBeGreaterThanOrEqual(60_000);
  release(false);
  await eventually(() => desk.worker.health().live);
  await desk.worker.stop();
  office.clock.advance(3_600_000);
  // One that does not run has nothing to be late with.
  expect(desk.worker.health().live).toBe(true);
});

test("draining does what is due and what that makes due, within its budget", async () => {
  await using office = await openOffice();
  const desk = await office.desk();
  for (let n = 0; n < 150; n += 1) await desk.owe(`order-${n}`);
  await desk.worker.drain({ graceMs: 60_000 });
  expect(office.provider.counts()).toMatchObject({ requests: 150, effects: 150 });

  office.provider.failNext({ when: "after", kind: "hold" });
  await desk.owe("slow");
  const draining = desk.worker.drain({ graceMs: 3_000 });
  await eventually(() => office.provider.held === 1);
  let drained = false;
  void draining.then(() => (drained = true));
  await eventually(() => {
    office.clock.advance(1_000);
    return drained;
  });
  expect((await desk.see("slow")).obligation).toMatchObject({ state: "owed", reached: "maybe" });
});

test("what a hook owes while a turn has looked and not yet ended is carried out by the same drain", async () => {
  await using office = await openOffice();
  const mail = office.effect({}, "mail/v1");
  const ship = office.effect({
    settled: async ({ operation, owe }) => {
      await owe(mail, { key: [`mail-${operation.input.order}`, "fulfil", "v1"], input: operation.input });
    },
  });
  const [looked, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let hook: "not yet" | "next" | "waits" = "not yet";
  let turns = 0;
  const desk = await office.desk({
    effects: [ship, mail],
    onEvent: (event) => {
      if (event.kind === "attempt.ended" && event.state === "settling") hook = "next";
    },
    aroundTransaction: async (run, { plansKept: isTurn }) => {
      if (hook === "next" && !isTurn) {
        hook = "waits";
        await looked.promise;
        // Over once its place is free as well.
        return run().finally(() => void setImmediate().then(over.resolve));
      }
      const value = await run();
      // Not the first, which the end of the call has asked for: the drain's own.
      if (hook === "waits" && isTurn && ++turns > 1) {
        looked.resolve();
        await over.promise;
      }
      return value;
    },
  });
  await desk.owe("order-1");
  await desk.work();
  expect(await desk.state("mail-order-1")).toBe("done");
});

test("two drains at once share the work, and the first to end stops nothing of the other's", async () => {
  await using office = await openOffice();
  const desk = await office.desk();
  office.provider.failNext({ when: "after", kind: "hold" });
  await desk.owe("slow");
  let ended = 0;
  const short = desk.worker.drain({ graceMs: 1_000 }).then(() => (ended += 1));
  const long = desk.worker.drain({ graceMs: 60_000 });
  await eventually(() => office.provider.held === 1);
  await eventually(() => {
    office.clock.advance(100);
    return ended === 1;
  });
  await short;
  office.provider.release();
  await long;
  expect((await desk.see("slow")).attempts).toMatchObject([{ verdict: "done" }]);
});

test("an end that cannot be written is left to its lease, and keeps no other from being written", async () => {
  await using office = await openOffice();
  const answered = { kind: "answered", reached: "yes", phase: "complete", headers: {}, truncated: false } as const;
  const desk = await office.desk({
    call: async (request) => {
      const { order } = JSON.parse(new TextDecoder().decode(request.body ?? undefined)) as { order: string };
      // A status that the store's column cannot hold stands in for whatever nobody has thought of.
      const status = order === "order-2" ? 200.5 : 200;
      return { ...answered, status, body: new TextEncoder().encode('{"id":"s-1"}') };
    },
  });
  for (let n = 0; n < 5; n += 1) await desk.owe(`order-${n}`);
  desk.worker.start();
  const states = (): Promise<string[]> => Promise.all([0, 1, 2, 3, 4].map((n) => desk.state(`order-${n}`)));
  await eventually(async () => {
    office.clock.advance(1_000);
    return (await states()).filter((state) => state === "done").length === 4;
  });
  await desk.owe("order-5");
  await eventually(async () => {
    office.clock.advance(1_000);
    return (await desk.state("order-5")) === "done";
  });
  expect(["sending", "owed"]).toContain((await states())[2]);
});
