import * as fc from "fast-check";
import { expect, test } from "vitest";
import { backoffMs, nextDueMs } from "./backoff.ts";
import { systemRandom } from "./random.ts";

const bounds = { firstMs: 1_000, maxMs: 3_600_000 };
const almostOne = 1 - 2 ** -53;

test("the range doubles with every failure until the cap", () => {
  const ceilings = [1, 2, 3, 11, 12, 40, 5_000].map((failures) =>
    backoffMs(failures, { ...bounds, random: () => almostOne }),
  );
  expect(ceilings).toEqual([1_999, 3_999, 7_999, 2_047_999, 3_599_999, 3_599_999, 3_599_999]);
});

test("no delay is below the floor or above the cap", () => {
  const unit = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10_000 }), unit, (failures, chance) => {
      const delay = backoffMs(failures, { ...bounds, random: () => chance });
      expect(delay).toBeGreaterThanOrEqual(bounds.firstMs);
      expect(delay).toBeLessThanOrEqual(bounds.maxMs);
      expect(Number.isSafeInteger(delay)).toBe(true);
    }),
  );
});

test("20 000 things that fail in one instant come due spread over the whole range", () => {
  const dues = Array.from({ length: 20_000 }, () => backoffMs(6, { ...bounds, random: systemRandom }));
  const perSecond = Map.groupBy(dues, (due) => Math.floor(due / 1_000));
  // The range has 63 seconds, so 317 in each on average.
  expect(perSecond.size).toBe(63);
  expect(Math.max(...[...perSecond.values()].map((group) => group.length))).toBeLessThan(600);
});

test("the provider's wish lengthens the backoff, is clipped, and never shortens it", () => {
  const due = (retryAfterMs: number | undefined, chance = 0): number =>
    nextDueMs(50, { failures: 3, backoff: bounds, random: () => chance, retryAfterMs, retryAfterMaxMs: 60_000 });
  expect(due(undefined)).toBe(1_050);
  expect(due(30_000)).toBe(30_050);
  expect(due(90_000)).toBe(60_050);
  expect(due(10)).toBe(1_050);
  expect(due(5_000, almostOne)).toBe(8_049);
});

test.each([0, -1, 1.5, Number.NaN])("a count of %d failures is refused", (failures) => {
  expect(() => backoffMs(failures, { ...bounds, random: () => 0 })).toThrow(RangeError);
});

test.each([
  { firstMs: 0, maxMs: 10 },
  { firstMs: 10, maxMs: 9 },
  { firstMs: Number.NaN, maxMs: 9 },
])("bounds from $firstMs to $maxMs ms are refused", (range) => {
  expect(() => backoffMs(1, { ...range, random: () => 0 })).toThrow("no range above zero");
});
