import { describe, expect, test } from "vitest";
import { defaults } from "../domain/limits.ts";
import { behindReason, lostReason, type Outcome, unmappedReason } from "../domain/outcome.ts";
import { type Before, place, type Placing, standsAsClaimed } from "./schedule.ts";

const now = 1_767_225_600_000;
const placing: Placing = { now, limits: defaults, random: () => 0, bytesKeptMs: 1_000, rank: null, orderKey: null };
const fresh: Before = { id: 1, version: 1, tries: 0, starts: 0, deadlineAt: null, receivedAt: now };

const placed = (outcome: Outcome, more: Partial<Placing> & { before?: Partial<Before>; reason?: string } = {}) => {
  const { before = {}, reason = null, ...rest } = more;
  return place({ ...fresh, ...before }, { outcome, reason }, { ...placing, ...rest });
};

describe("bytes", () => {
  test.each(["applied", "stale", "refused", "resolved", "ignored"] as const)(
    "of what is %s go after their time",
    (outcome) => {
      expect(placed(outcome)).toMatchObject({ bytesExpireAt: now + 1_000, dueAt: null, deadlineAt: null });
      expect(placed(outcome, { bytesKeptMs: 0 })).toMatchObject({ bytesExpireAt: "now" });
    },
  );

  test.each(["held", "parked", "queued", "conflict", "quarantined", "suspect"] as const)(
    "of what is %s stay",
    (outcome) => {
      expect(placed(outcome, { bytesKeptMs: 0 })).toMatchObject({ bytesExpireAt: null });
    },
  );

  test("of a type that nobody handles stay until somebody decides", () => {
    expect(placed("ignored", { reason: unmappedReason, bytesKeptMs: 0 })).toMatchObject({ bytesExpireAt: null });
  });
});

describe("a held event", () => {
  test("is tried again, later each time, until it is the operator's", () => {
    const delays = Array.from({ length: defaults.heldTriesMax }, (_, tries) => {
      const { dueAt, tries: counted } = placed("held", { before: { tries }, random: () => 0.999_999 });
      expect(counted).toBe(tries + 1);
      return dueAt === null ? null : dueAt - now;
    });
    expect(delays.at(-1)).toBeNull();
    const tried = delays.slice(0, -1) as number[];
    expect(tried).toEqual(tried.toSorted((a, b) => a - b));
    expect(tried.every((delay) => delay > 0 && delay <= defaults.heldMaxMs)).toBe(true);
    expect(tried.at(-1)).toBeGreaterThan(defaults.heldMaxMs / 2);
  });

  test("is never due at once, whatever chance says", () => {
    for (const random of [0, 0.5, 0.999_999]) {
      expect(placed("held", { random: () => random }).dueAt).toBeGreaterThan(now);
    }
  });
});

describe("a parked event", () => {
  test("is tried seldom, and the operator's from its first deadline on, which does not move", () => {
    const first = placed("parked");
    expect(first.dueAt).toBeGreaterThanOrEqual(now + defaults.parkedRetryMs);
    expect(first.deadlineAt).toBe(now + defaults.parkedDeadlineMs);
    const later = now + 3_600_000;
    expect(placed("parked", { now: later, before: { deadlineAt: first.deadlineAt } })).toMatchObject({
      deadlineAt: first.deadlineAt,
      tries: 0,
    });
  });
});

test("an event that lost its workers is the operator's, and keeps what was counted; any run that ended takes it away", () => {
  const before = { starts: 3 };
  expect(placed("held", { before, reason: lostReason })).toMatchObject({ dueAt: null, starts: 3 });
  expect(placed("held", { before })).toMatchObject({ starts: 0 });
  expect(placed("applied", { before })).toMatchObject({ starts: 0 });
  // Its handler did not run: only this start is taken back.
  expect(placed("queued", { before, reason: behindReason })).toMatchObject({ starts: 2 });
});

test("who waits for a person is due at no time by itself", () => {
  for (const outcome of ["conflict", "quarantined", "suspect"] as const) {
    expect(placed(outcome)).toMatchObject({ dueAt: null, deadlineAt: null });
  }
  expect(placed("queued")).toMatchObject({ dueAt: now });
});

test("only a plain applied event with bytes to keep stands as it was claimed", () => {
  expect(standsAsClaimed({ outcome: "applied", reason: null }, 1)).toBe(true);
  expect(standsAsClaimed({ outcome: "applied", reason: null }, 0)).toBe(false);
  expect(standsAsClaimed({ outcome: "applied", reason: "read again" }, 1)).toBe(false);
  expect(standsAsClaimed({ outcome: "refused", reason: null }, 1)).toBe(false);
});
