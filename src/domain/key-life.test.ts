import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { keyLifeMs, keyTermsProblem, wireKey } from "./key-life.ts";

describe("the wire key", () => {
  const parts = { tenant: "acme", operationKey: "order-1/fulfil/v1", generation: 1 };

  test("the derivation is the one that keys in flight were made with", () => {
    // These texts must never change: an upgrade would repeat every effect that was under way.
    expect(wireKey(parts)).toBe("cf-edda83a9f53a1c284fdfda99e54af5ce823997c993dd6a7684ce2b4095087c00");
    expect(wireKey({ ...parts, generation: 2 })).toBe(
      "cf-d456424fab16c09f781d52ceef986b3c058cefe47b8bf9b56512ee15f4cbf9ab",
    );
    expect(wireKey({ ...parts, operationKey: "日本/v1" })).toBe(
      "cf-aca2a6b3880d0052d47be23899256613f98ad1696d31ce6e61589fb82b572130",
    );
  });

  test("a shorter limit cuts the same key", () => {
    for (const lengthMax of [32, 45, 64, 66, 67, 255]) {
      expect(wireKey({ ...parts, lengthMax })).toBe(wireKey(parts).slice(0, lengthMax));
    }
  });

  test("other forms are of the same digest, and must never change either", () => {
    expect(wireKey({ ...parts, form: "uuid" })).toBe("edda83a9-f53a-41c2-84fd-fda99e54af5c");
    expect(wireKey({ ...parts, form: "compact" })).toBe("7dqDqfU6HChP39qZ5Ur1zoI5l8mT3Wp2hM4rQJUIfAA");
    expect(wireKey({ ...parts, form: "compact", lengthMax: 25 })).toBe("7dqDqfU6HChP39qZ5Ur1zoI5l");
  });

  test("a UUID has the version and the variant that providers check, whatever the operation", () => {
    fc.assert(
      fc.property(fc.string(), (operationKey) => {
        const uuid = wireKey({ ...parts, operationKey, form: "uuid", lengthMax: 36 });
        expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      }),
    );
  });

  test.each([
    ["uuid", 35, "at least 36"],
    ["compact", 21, "at least 22"],
    ["of mine", 64, 'the form "of mine"'],
  ])("the form %s in at most %d characters is refused", (form, lengthMax, words) => {
    expect(() => wireKey({ ...parts, form: form as "uuid", lengthMax })).toThrow(words);
  });

  test("a key is safe in a header, a URL and a provider that folds case, whatever its parts", () => {
    const text = fc.string({ unit: "binary" });
    fc.assert(
      fc.property(text, text, fc.integer({ min: 1, max: 2 ** 40 }), (tenant, operationKey, generation) => {
        expect(wireKey({ tenant, operationKey, generation })).toMatch(/^cf-[0-9a-f]{64}$/);
      }),
    );
  });

  test("two lists of parts never share a key", () => {
    // Few letters, among them those that frame the parts: collisions by joining would be met at once.
    const text = fc.string({ unit: fc.constantFrom("a", "/", ",", '"', "\\", "1"), maxLength: 4 });
    const list = fc.record({ tenant: text, operationKey: text, generation: fc.integer({ min: 1, max: 12 }) });
    fc.assert(
      fc.property(list, list, (left, right) => {
        const same = (["tenant", "operationKey", "generation"] as const).every((name) => left[name] === right[name]);
        expect(wireKey(left) === wireKey(right)).toBe(same);
      }),
      { numRuns: 2_000 },
    );
    expect(wireKey({ tenant: "a", operationKey: "b/c", generation: 1 })).not.toBe(
      wireKey({ tenant: "a/b", operationKey: "c", generation: 1 }),
    );
  });

  test.each([0, -1, 1.5, Number.NaN])("generation %d is refused", (generation) => {
    expect(() => wireKey({ ...parts, generation })).toThrow("whole number above zero");
  });

  test.each([0, 31, 40.5, Number.NaN])("a limit of %d characters is refused", (lengthMax) => {
    expect(() => wireKey({ ...parts, lengthMax })).toThrow("at least 32 are needed");
  });
});

describe("the life of a key", () => {
  const hour = 3_600_000;
  const since = { wallMs: 1_000_000, monotonicMs: 500, bootId: "a" };
  const key = { since, lifetimeMs: 24 * hour, marginMs: 45_000 };

  function after(
    wallMs: number,
    monotonicMs: number,
    bootId = "a",
  ): { wallMs: number; monotonicMs: number; bootId: string } {
    return {
      wallMs: since.wallMs + wallMs,
      monotonicMs: bootId === "a" ? since.monotonicMs + monotonicMs : monotonicMs,
      bootId,
    };
  }

  test("a key that cannot have reached the provider has its whole life", () => {
    expect(keyLifeMs({ ...key, since: null }, after(999 * hour, 999 * hour))).toBe(24 * hour - 45_000);
  });

  test("a key ends one margin before its lifetime", () => {
    expect(keyLifeMs(key, after(0, 0))).toBe(24 * hour - 45_000);
    expect(keyLifeMs(key, after(24 * hour - 45_001, 24 * hour - 45_001))).toBe(1);
    expect(keyLifeMs(key, after(24 * hour - 45_000, 24 * hour - 45_000))).toBe(0);
    expect(keyLifeMs(key, after(72 * hour, 72 * hour))).toBe(0);
  });

  test("a wall clock that was stepped back does not keep a key alive", () => {
    expect(keyLifeMs(key, after(-5 * hour, 25 * hour))).toBe(0);
    expect(keyLifeMs(key, after(0, 23 * hour))).toBe(hour - 45_000);
  });

  test("a machine that slept while its monotonic clock stood still does not keep a key alive", () => {
    expect(keyLifeMs(key, after(25 * hour, 1))).toBe(0);
  });

  test("after a reboot the wall clock decides, and one that went back means dead", () => {
    expect(keyLifeMs(key, after(23 * hour, 1, "b"))).toBe(hour - 45_000);
    expect(keyLifeMs(key, after(25 * hour, 1, "b"))).toBe(0);
    expect(keyLifeMs(key, after(-1, 1, "b"))).toBe(0);
  });

  test("within one boot, no step of the wall clock leaves more life than was left", () => {
    const ms = fc.integer({ min: 0, max: 30 * hour });
    fc.assert(
      fc.property(ms, fc.integer({ min: -30 * hour, max: 30 * hour }), (passed, step) => {
        const truth = Math.max(0, key.lifetimeMs - key.marginMs - passed);
        expect(keyLifeMs(key, after(passed + step, passed))).toBeLessThanOrEqual(truth);
      }),
    );
  });

  test.each([
    [24 * hour, 35_000, undefined],
    [24 * hour, 34_999, "under a call of 30000 ms plus a skew of 5000 ms"],
    [35_000, 35_000, "not above the margin"],
    [24 * hour, Number.NaN, "under a call"],
  ])("a lifetime of %d ms with a margin of %d ms is judged: %s", (lifetimeMs, marginMs, problem) => {
    const found = keyTermsProblem({ lifetimeMs, marginMs }, { callMs: 30_000, skewMs: 5_000 });
    if (problem === undefined) expect(found).toBeUndefined();
    else expect(found).toContain(problem);
  });
});
