import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { defaults, type Limits, relations, withLimits } from "./limits.ts";

describe("withLimits", () => {
  test("puts overrides over the defaults", () => {
    expect(withLimits({ groupMax: 16 })).toEqual({ ...defaults, groupMax: 16 });
  });

  test.each<[string, Partial<Limits>, RegExp]>([
    ["a lease shorter than a call", { leaseMs: 30_000 }, /leaseMs > callMs \+ leaseMarginMs does not hold/],
    ["a heartbeat slower than the lease", { heartbeatMs: 60_000 }, /heartbeatMs < leaseMs/],
    ["a key margin shorter than a call", { keyMarginMs: 1_000 }, /keyMarginMs >= callMs/],
    ["more calls to one destination than in all", { callsPerDestination: 129 }, /callsPerDestination <= callsMax/],
    ["a value that is no bound", { groupMax: -1 }, /groupMax to -1: it must be a whole number/],
    ["a limit that does not exist", { groupsMax: 1 } as unknown as Partial<Limits>, /there is no such limit/],
  ])("refuses %s", (_name, overrides, message) => {
    expect(() => withLimits(overrides)).toThrow(message);
  });
});

test("the page of defaults shows exactly these limits and values", () => {
  const page = readFileSync(new URL("../../docs/defaults.md", import.meta.url), "utf8");
  const shown = [...page.matchAll(/^\| `(\w+)` +\| (\d+) +\|/gm)].map(([, name, value]) => [name, Number(value)]);
  expect(shown).toEqual(Object.entries(defaults));
  const stated = [...page.matchAll(/^- `([^`]+)`$/gm)].map(([, relation]) => relation);
  expect(stated).toEqual(relations.map(([relation]) => relation));
});
