import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { defaults } from "../domain/limits.ts";
import type { TelemetryEvent } from "../domain/telemetry.ts";
import { VirtualClock } from "../testing/virtual-clock.ts";
import { Loop } from "./loop.ts";

interface Kit {
  readonly clock: VirtualClock;
  readonly loop: Loop;
  readonly events: TelemetryEvent[];
  /** Why each run so far began. */
  readonly runs: ("timer" | "poke")[];
}

function kit(work: () => Promise<boolean> = async () => false): Kit {
  const clock = new VirtualClock();
  const events: TelemetryEvent[] = [];
  const runs: ("timer" | "poke")[] = [];
  const runtime = {
    clock,
    limits: defaults,
    random: () => 0.5,
    emit: (event: TelemetryEvent) => void events.push(event),
  };
  const run = (byTimer: boolean): Promise<boolean> => {
    runs.push(byTimer ? "timer" : "poke");
    return work();
  };
  return { clock, events, runs, loop: new Loop({ name: "test", runtime, everyMs: 1_000, run }) };
}

async function turns(count = 4): Promise<void> {
  for (let n = 0; n < count; n += 1) await setImmediate();
}

describe("a loop", () => {
  test("runs when it starts, and by its timer from then on", async () => {
    const { clock, loop, runs } = kit();
    loop.start();
    await turns();
    expect(runs).toEqual(["timer"]);
    clock.advance(999);
    await turns();
    expect(runs).toHaveLength(1);
    clock.advance(1);
    await turns();
    expect(runs).toEqual(["timer", "timer"]);
    await loop.stop();
    expect(clock.pendingTimers).toBe(0);
  });

  test("runs once for any number of pokes, and again for one that came in between", async () => {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    let first = true;
    const { loop, runs } = kit(() => {
      if (!first) return Promise.resolve(false);
      first = false;
      return promise;
    });
    loop.start();
    await turns();
    loop.poke();
    loop.poke();
    await turns();
    expect(runs).toHaveLength(1);
    resolve(false);
    await turns();
    expect(runs).toEqual(["timer", "poke"]);
    loop.poke();
    loop.poke();
    await turns();
    expect(runs).toHaveLength(3);
    await loop.stop();
  });

  test("that is poked all the time still runs by its timer", async () => {
    const { clock, loop, runs } = kit();
    loop.start();
    await turns();
    for (let n = 0; n < 10; n += 1) {
      clock.advance(300);
      loop.poke();
      await turns();
    }
    // 3 s of pokes, each less than an interval after the last one, and a timer that is due every second.
    expect(runs.filter((run) => run === "timer").length).toBeGreaterThanOrEqual(3);
    await loop.stop();
    expect(clock.pendingTimers).toBe(0);
  });

  test("runs again at once while there is more", async () => {
    let left = 5;
    const { loop, runs } = kit(async () => (left -= 1) > 0);
    loop.start();
    await turns(12);
    expect(runs).toHaveLength(5);
    await loop.stop();
  });

  test("never runs twice at a time, also when it is ticked", async () => {
    let running = 0;
    let most = 0;
    const { loop, runs } = kit(async () => {
      running += 1;
      most = Math.max(most, running);
      await turns(2);
      running -= 1;
      return false;
    });
    loop.start();
    await Promise.all([loop.tick(), loop.tick(), turns()]);
    loop.poke();
    await loop.stop();
    expect(most).toBe(1);
    expect(runs.length).toBeGreaterThanOrEqual(2);
  });

  test("that was stopped does not run, whatever pokes it", async () => {
    const { clock, loop, runs } = kit();
    loop.start();
    await turns();
    await loop.stop();
    loop.poke();
    clock.advance(60_000);
    await turns();
    expect(runs).toHaveLength(1);
  });

  test("that falls ill tells it once, tries on with backoff, is not hurried by pokes, and tells when it is well", async () => {
    let ill = true;
    const { clock, loop, runs, events } = kit(() =>
      ill ? Promise.reject(new Error("s3cret")) : Promise.resolve(false),
    );
    loop.start();
    await turns();
    loop.poke();
    await turns();
    expect(runs).toHaveLength(1);
    for (let n = 0; n < 10; n += 1) {
      // The longest backoff, so that each step is one more run.
      clock.advance(defaults.heartbeatMs);
      await turns();
    }
    expect(runs.length).toBeGreaterThan(10);
    expect(events).toEqual([
      { kind: "loop.failed", loop: "test", code: "UNEXPECTED", summary: expect.stringMatching(/^Error at/) as string },
    ]);
    ill = false;
    clock.advance(defaults.heartbeatMs);
    await turns();
    expect(events.at(-1)).toEqual({ kind: "loop.recovered", loop: "test" });
    expect(loop.lastTickMs).toBeLessThan(defaults.heartbeatMs);
    await loop.stop();
  });

  test("whose work throws before it waits is ill like any other", async () => {
    const { loop, events } = kit(() => {
      throw new TypeError("at once");
    });
    expect(await loop.tick()).toBe(false);
    expect(events).toMatchObject([{ kind: "loop.failed" }]);
  });
});
