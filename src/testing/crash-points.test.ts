import { expect, test } from "vitest";
import { countPoints, killAt, killAtEveryPoint, probeFrom } from "./crash-points.ts";

test("a counter remembers every point in order, repeated ones too", () => {
  const counter = countPoints();
  for (const point of ["claim:before", "claim:after", "claim:before"]) counter.probe(point);
  expect(counter.points).toEqual(["claim:before", "claim:after", "claim:before"]);
});

test("points are counted from 1, in whole numbers", () => {
  for (const n of [0, -1, 1.5, Number.NaN]) expect(() => killAt(n)).toThrow(RangeError);
});

test("the environment asks for a kill, or for none, or wrongly", () => {
  expect(probeFrom({})).toBeUndefined();
  expect(probeFrom({ COUNTERFOIL_KILL_AT: "" })).toBeUndefined();
  expect(probeFrom({ COUNTERFOIL_KILL_AT: "3" })).toBeTypeOf("function");
  expect(() => probeFrom({ COUNTERFOIL_KILL_AT: "soon" })).toThrow("Cannot kill at crash point");
});

test("an enumeration ends with the first run that finishes, and gives the number of points", async () => {
  const asked: (string | undefined)[] = [];
  const points = await killAtEveryPoint(async ({ n, environment }) => {
    asked.push(environment["COUNTERFOIL_KILL_AT"]);
    return n <= 3 ? "killed" : "finished";
  });
  expect(points).toBe(3);
  expect(asked).toEqual(["1", "2", "3", "4"]);
});

test("an enumeration that never ends is given up", async () => {
  await expect(killAtEveryPoint(async () => "killed", { runsMax: 5 })).rejects.toThrow("5 runs were all killed");
});
