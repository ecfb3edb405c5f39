import * as fc from "fast-check";
import { expect, test } from "vitest";
import { VirtualClock } from "./virtual-clock.ts";

test("time stands still until it is advanced, and then passes on both clocks", () => {
  const clock = new VirtualClock({ wallMs: 1_000, monotonicMs: 5 });
  expect([clock.wallMs(), clock.monotonicMs()]).toEqual([1_000, 5]);
  clock.advance(30);
  expect([clock.wallMs(), clock.monotonicMs()]).toEqual([1_030, 35]);
});

test("timers fire in the order of their due times, each at its own instant, equal ones as they were set", () => {
  const clock = new VirtualClock({ wallMs: 0 });
  const fired: string[] = [];
  const note = (name: string) => () => void fired.push(`${name}@${clock.monotonicMs()}/${clock.wallMs()}`);
  clock.timer(30, note("c"));
  clock.timer(10, note("a"));
  clock.timer(30, note("d"));
  clock.timer(20, note("b"));
  clock.timer(31, note("late"));
  clock.advance(30);
  expect(fired).toEqual(["a@10/10", "b@20/20", "c@30/30", "d@30/30"]);
  expect(clock.pendingTimers).toBe(1);
});

test("a timer set by a timer fires in the same advance when it is due in it", () => {
  const clock = new VirtualClock();
  const fired: number[] = [];
  const again = (): void => {
    fired.push(clock.monotonicMs());
    clock.timer(10, again);
  };
  clock.timer(10, again);
  clock.advance(35);
  expect(fired).toEqual([10, 20, 30]);
});

test("a timer of no delay that sets itself again does not stop the clock", () => {
  const clock = new VirtualClock();
  let fired = 0;
  const again = (): void => {
    fired += 1;
    clock.timer(0, again);
  };
  again();
  clock.advance(5);
  expect(fired).toBe(6);
});

test("a cancelled timer never fires, also when its turn comes in the same instant", () => {
  const clock = new VirtualClock();
  let fired = false;
  const cancels: (() => void)[] = [];
  clock.timer(10, () => cancels.forEach((cancel) => cancel()));
  cancels.push(clock.timer(10, () => (fired = true)));
  clock.advance(10);
  expect(fired).toBe(false);
  expect(clock.pendingTimers).toBe(0);
});

test("a step of the wall clock fires nothing and leaves monotonic time alone", () => {
  const clock = new VirtualClock({ wallMs: 10_000 });
  let fired = 0;
  clock.timer(1_000, () => (fired += 1));
  clock.stepWall(-3_600_000);
  clock.stepWall(7_200_000);
  expect([clock.wallMs(), clock.monotonicMs(), fired]).toEqual([3_610_000, 0, 0]);
  clock.advance(1_000);
  expect(fired).toBe(1);
});

test("a reboot starts monotonic time again under another boot id and drops the timers", () => {
  const clock = new VirtualClock({ wallMs: 0 });
  let fired = false;
  clock.timer(100, () => (fired = true));
  clock.advance(50);
  clock.reboot("boot-2");
  clock.advance(100);
  expect([clock.bootId, clock.monotonicMs(), clock.wallMs(), fired]).toEqual(["boot-2", 100, 150, false]);
});

test("what a timer throws comes out of advance, and the clock stands at its instant", () => {
  const clock = new VirtualClock();
  clock.timer(10, () => {
    throw new Error("lease lost");
  });
  expect(() => clock.advance(100)).toThrow("lease lost");
  expect(clock.monotonicMs()).toBe(10);
});

test("a timer that advances the clock itself never makes it run backwards", () => {
  const clock = new VirtualClock();
  clock.timer(5, () => clock.advance(100));
  clock.advance(10);
  expect(clock.monotonicMs()).toBe(105);
});

test("time that is no number or runs backwards is refused", () => {
  const clock = new VirtualClock();
  expect(() => clock.advance(-1)).toThrow(RangeError);
  expect(() => clock.advance(Number.NaN)).toThrow(RangeError);
  expect(() => clock.timer(Number.NaN, () => undefined)).toThrow(RangeError);
});

test("advancing in any pieces fires the same timers at the same instants as advancing at once", () => {
  const delays = fc.array(fc.integer({ min: 1, max: 100 }), { maxLength: 20 });
  const pieces = fc.array(fc.integer({ min: 0, max: 50 }), { maxLength: 10 });
  const run = (delaysMs: number[], piecesMs: number[]): number[][] => {
    const clock = new VirtualClock();
    const fired: number[][] = [];
    delaysMs.forEach((ms, index) => clock.timer(ms, () => void fired.push([index, clock.monotonicMs()])));
    piecesMs.forEach((ms) => clock.advance(ms));
    return fired;
  };
  fc.assert(
    fc.property(delays, pieces, (delaysMs, piecesMs) => {
      const totalMs = piecesMs.reduce((sum, ms) => sum + ms, 0);
      expect(run(delaysMs, piecesMs)).toEqual(run(delaysMs, [totalMs]));
    }),
  );
});
