/** Workers that are slow, cut off, or dead: what they may still change, and what becomes of their work. */
import { describe, expect, test } from "vitest";
import type { Clock } from "../../src/domain/clock.ts";
import type { Call } from "../../src/outbox/attempt.ts";
import { rescue } from "../../src/outbox/rescue.ts";
import { eventually } from "../../src/testing/eventually.ts";
import type { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { transact } from "../../src/work/transact.ts";
import { machineClocks } from "../support/engine.ts";
import { type Desk, type Office, openOffice, type ShipOptions } from "./office.ts";

const minute = 60_000;
const day = 24 * 60 * minute;

/** Claims as a worker does and writes nothing more, as one that was killed. */
async function claimAndDie({ runtime }: Desk): Promise<void> {
  await transact(runtime, async (tx) => {
    const lanes = (await tx.dueLanes()).map((lane) => ({ ...lane, limit: 10 }));
    const claims = await tx.claim({ lanes, worker: "dead", leaseMs: runtime.limits.leaseMs });
    expect(claims).toHaveLength(1);
  });
}

/** Claims and dies, lets the lease end, and lets the worker take note. */
async function crash(desk: Desk, clock: VirtualClock): Promise<void> {
  await claimAndDie(desk);
  clock.advance(desk.runtime.limits.leaseMs);
  await rescue(desk.runtime);
}

describe("a worker that is overtaken in mid-call", () => {
  interface Overtaken {
    readonly slow: Desk;
    readonly quick: Desk;
  }

  /** The first worker's timers never fire, as those of a process that was stopped; time goes on for it all the same. */
  async function overtaken(office: Office, options: ShipOptions = {}, call?: Call): Promise<Overtaken> {
    const effects = [office.effect(options)];
    const { clock } = office;
    const stopped: Clock = {
      wallMs: () => clock.wallMs(),
      monotonicMs: () => clock.monotonicMs(),
      bootId: clock.bootId,
      timer: () => () => undefined,
    };
    const slow = await office.desk({ name: "slow", effects, clock: stopped });
    const quick = await office.desk({ name: "quick", effects, ...(call && { call }) });
    office.provider.failNext({ when: "after", kind: "hold" });
    await slow.owe("order-1");
    slow.worker.start();
    await eventually(() => office.provider.held === 1);
    clock.advance(61_000);
    await rescue(quick.runtime);
    return { slow, quick };
  }

  async function wakesUp(office: Office, slow: Desk): Promise<void> {
    office.provider.release();
    await eventually(() => slow.kinds().includes("fence.refused"));
  }

  test("changes nothing with its late 200, which the next decision reads as done", async () => {
    await using office = await openOffice();
    const { slow, quick } = await overtaken(office);
    expect(quick.kinds()).toContain("lease.expired");
    expect((await quick.see("order-1")).obligation).toMatchObject({
      state: "owed",
      fence: 2,
      crashes: 1,
      reached: "maybe",
    });

    await wakesUp(office, slow);
    const late = await quick.see("order-1");
    expect(late.obligation).toMatchObject({ state: "owed", fence: 2 });
    expect(late.attempts).toMatchObject([{ fence: 1, verdict: "done", status: 201 }]);

    office.clock.advance(2_000);
    await quick.work();
    const { obligation, attempts, answer } = await quick.see("order-1");
    expect(obligation).toMatchObject({ state: "done", reached: "yes" });
    expect(attempts.map(({ verdict }) => verdict)).toEqual(["done", "released"]);
    expect(new TextDecoder().decode(answer?.body)).toContain('"id"');
    expect(quick.kinds()).toContain("evidence.used");
    expect(office.provider.counts()).toMatchObject({ requests: 1, effects: 1 });
  });

  test("answers while its successor's call fails: the successor settles from the answer", async () => {
    await using office = await openOffice();
    let wake = async (): Promise<void> => undefined;
    const { slow, quick } = await overtaken(office, {}, async () => {
      await wake();
      return { kind: "unknown", reached: "maybe", phase: "headers", cause: "reset", detail: "ECONNRESET" };
    });
    wake = () => wakesUp(office, slow);
    office.clock.advance(2_000);
    await quick.work();
    const { obligation, attempts } = await quick.see("order-1");
    expect(obligation).toMatchObject({ state: "done", reached: "yes" });
    expect(attempts.map(({ verdict }) => verdict)).toEqual(["done", "unknown"]);
    expect(quick.kinds()).toContain("evidence.used");
    expect(office.provider.counts()).toMatchObject({ requests: 1, effects: 1 });
  });

  test("answers before its successor dies: the rescue settles from the answer", async () => {
    await using office = await openOffice();
    const { slow, quick } = await overtaken(office);
    office.clock.advance(2_000);
    await transact(quick.runtime, async (tx) => {
      const lanes = (await tx.dueLanes()).map((lane) => ({ ...lane, limit: 1 }));
      expect(await tx.claim({ lanes, worker: "third", leaseMs: 60_000 })).toMatchObject([
        { fence: 3, evidence: false },
      ]);
    });
    await wakesUp(office, slow);
    office.clock.advance(60_000);
    await rescue(quick.runtime);
    expect((await quick.see("order-1")).obligation).toMatchObject({ state: "done", reached: "yes", fence: 4 });
    expect(office.provider.counts()).toMatchObject({ requests: 1, effects: 1 });
  });

  test("shares one effect with its successor at a provider that keeps its contract", async () => {
    await using office = await openOffice();
    const { slow, quick } = await overtaken(office);
    office.clock.advance(2_000);
    await quick.work();
    expect(await quick.state("order-1")).toBe("done");
    await wakesUp(office, slow);
    const { obligation, attempts } = await quick.see("order-1");
    expect(obligation).toMatchObject({ state: "done", fence: 3 });
    expect(attempts.map(({ fence, verdict }) => [fence, verdict])).toEqual([
      [1, "done"],
      [3, "done"],
    ]);
    expect(office.provider.counts()).toMatchObject({ requests: 2, effects: 1 });
  });

  test("leaves it uncertain, not sent again, at a provider without a contract", async () => {
    await using office = await openOffice({ provider: { contract: "ignores" } });
    const { slow, quick } = await overtaken(office, { idempotency: "none" });
    office.clock.advance(day);
    await quick.work();
    expect((await quick.see("order-1")).obligation).toMatchObject({ state: "uncertain", dueAt: null });
    await wakesUp(office, slow);
    expect(office.provider.counts()).toMatchObject({ requests: 1, effects: 1 });
  });
});

describe("a long call", () => {
  async function calling(office: Office): Promise<readonly [Desk, Promise<unknown>]> {
    const desk = await office.desk({ effects: [office.effect({ timeout: "10m" })] });
    office.provider.failNext({ when: "after", kind: "hold" });
    await desk.owe("order-1");
    desk.worker.start();
    await eventually(() => office.provider.held === 1);
    return [desk, eventually(async () => (await desk.see("order-1")).lease === null)];
  }

  test("keeps its lease by heartbeats", async () => {
    await using office = await openOffice();
    const [desk, ended] = await calling(office);
    const until = async (): Promise<boolean> => (await desk.see("order-1")).lease?.live === true;
    for (let seconds = 0; seconds < 180; seconds += 20) {
      // Each step lets one heartbeat commit before the next.
      const beats = desk.worker.health().lastTickMs["heartbeat"];
      office.clock.advance(20_000);
      await eventually(() => (desk.worker.health().lastTickMs["heartbeat"] ?? 0) < 20_000, {
        what: `a beat after ${beats}`,
      });
      await rescue(desk.runtime);
      expect(await until()).toBe(true);
    }
    office.provider.release();
    await ended;
    expect(await desk.state("order-1")).toBe("done");
    expect(desk.kinds()).not.toContain("lease.lost");
  });

  test("whose worker cannot renew is aborted before its lease can have ended", async () => {
    await using office = await openOffice();
    const [desk, ended] = await calling(office);
    const lock = await office.database.lock();
    office.clock.advance(54_999);
    expect(desk.kinds()).not.toContain("lease.lost");
    office.clock.advance(1);
    expect(desk.kinds()).toContain("lease.lost");
    await lock[Symbol.asyncDispose]();
    office.clock.advance(2_000);
    await ended;
    const { obligation, attempts } = await desk.see("order-1");
    expect(obligation).toMatchObject({ state: "owed", reached: "maybe" });
    expect(attempts).toMatchObject([{ verdict: "unknown", cause: "aborted" }]);
  });

  test("whose lease was taken away is aborted at the next heartbeat", async () => {
    await using office = await openOffice();
    const [desk] = await calling(office);
    await transact(desk.runtime, async (tx) => {
      const { obligation } = await desk.see("order-1");
      const { state, ...rest } = obligation;
      await tx.move([
        {
          obligationId: obligation.id,
          fence: obligation.fence,
          to: { ...rest, state: "cancelled" },
          attempt: null,
          keepLease: false,
          raiseFence: true,
        },
      ]);
      expect(state).toBe("sending");
    });
    office.clock.advance(15_000);
    await eventually(() => desk.kinds().includes("lease.lost"));
    await eventually(() => desk.kinds().includes("fence.refused"));
    expect(await desk.state("order-1")).toBe("cancelled");
  });
});

test("a call whose lease ended while it was connecting is not started", async () => {
  await using office = await openOffice();
  const desk = await office.desk({
    call: async (_, { mayStart }) => {
      // Nothing is claimed after it.
      void desk.worker.stop();
      office.clock.advance(54_999);
      expect(mayStart()).toBe(true);
      office.clock.advance(1);
      expect(mayStart()).toBe(false);
      return { kind: "not_sent", reached: "no", phase: "connect", cause: "withdrawn", detail: "" };
    },
  });
  await desk.owe("order-1");
  desk.worker.start();
  await eventually(async () => (await desk.see("order-1")).attempts[0]?.verdict === "released");
  expect((await desk.see("order-1")).obligation).toMatchObject({ reached: "no", tries: 0 });
});

describe("a worker that died in mid-call", () => {
  test("leaves an unknown outcome: the same key is used again", async () => {
    await using office = await openOffice();
    const desk = await office.desk();
    await desk.owe("order-1");
    await claimAndDie(desk);
    office.clock.advance(59_999);
    await rescue(desk.runtime);
    expect(await desk.state("order-1")).toBe("sending");
    office.clock.advance(1);
    await rescue(desk.runtime);
    const { obligation, attempts } = await desk.see("order-1");
    expect(obligation).toMatchObject({ state: "owed", reached: "maybe", generation: 1, crashes: 1, fence: 2 });
    expect(attempts).toMatchObject([{ fence: 1, verdict: "crashed" }]);
    office.clock.advance(2_000);
    await desk.work();
    expect((await desk.see("order-1")).obligation).toMatchObject({ state: "done", crashes: 0 });
  });

  test.runIf(machineClocks)("is found by another boot of the machine at once", async () => {
    await using office = await openOffice();
    const desk = await office.desk();
    await desk.owe("order-1");
    await claimAndDie(desk);
    office.clock.reboot("boot-2");
    await rescue(desk.runtime);
    expect((await desk.see("order-1")).obligation).toMatchObject({ state: "owed", crashes: 1 });
  });

  test("is not presumed dead because the wall clock jumped", async () => {
    await using office = await openOffice();
    const desk = await office.desk();
    await desk.owe("order-1");
    await claimAndDie(desk);
    office.clock.stepWall(day);
    await rescue(desk.runtime);
    expect(await desk.state("order-1")).toBe("sending");
    office.clock.stepWall(-2 * day);
    office.clock.advance(minute);
    await rescue(desk.runtime);
    expect(await desk.state("order-1")).toBe("owed");
  });

  test("started its key's life at the claim: found days later, nothing is sent again", async () => {
    await using office = await openOffice();
    const desk = await office.desk();
    await desk.owe("order-1");
    await claimAndDie(desk);
    office.clock.advance(3 * day);
    office.clock.stepWall(-3 * day);
    await desk.work();
    expect((await desk.see("order-1")).obligation).toMatchObject({ state: "uncertain", dueAt: null, reached: "maybe" });
    expect(office.provider.counts().requests).toBe(0);
  });

  test("a few times in a row leaves the obligation to the operator", async () => {
    await using office = await openOffice({ limits: { crashesMax: 3 } });
    const desk = await office.desk();
    await desk.owe("order-1");
    for (let n = 0; n < 3; n += 1) {
      office.clock.advance(minute);
      await crash(desk, office.clock);
    }
    expect((await desk.see("order-1")).obligation).toMatchObject({
      state: "stuck",
      reason: "crashed worker: 3 were lost in a row",
    });
  });

  test("under an effect that is not registered here leaves it for a worker that has it", async () => {
    await using office = await openOffice({ provider: { contract: "ignores" } });
    const bare = office.effect({ idempotency: "none" });
    const desk = await office.desk({ effects: [bare] });
    const stranger = await office.desk({ effects: [] });
    await desk.owe("order-1");
    await crash(desk, office.clock);
    await desk.owe("order-2");
    office.clock.advance(minute);
    await transact(stranger.runtime, async (tx) => {
      const lanes = (await tx.dueLanes()).map((lane) => ({ ...lane, limit: 10 }));
      await tx.claim({ lanes, worker: "dead", leaseMs: minute });
    });
    office.clock.advance(minute);
    await rescue(stranger.runtime);
    expect((await desk.see("order-2")).obligation).toMatchObject({ state: "owed", reached: "maybe", crashes: 1 });
    office.clock.advance(minute);
    await desk.work();
    expect((await desk.see("order-2")).obligation).toMatchObject({ state: "uncertain", dueAt: null });
    expect(office.provider.counts().requests).toBe(0);
  });
});
