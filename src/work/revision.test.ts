import * as fc from "fast-check";
import { expect, test } from "vitest";
import { revisionText } from "./revision.ts";

test("an integer is its digits, however it is given, without zeros in front", () => {
  fc.assert(
    fc.property(fc.bigInt(), fc.nat(3), (revision, zeros) => {
      const sign = revision < 0n ? "-" : "";
      const digits = String(revision).replace("-", "");
      expect(revisionText(revision)).toBe(String(revision));
      expect(revisionText(`${sign}${"0".repeat(zeros)}${digits}`)).toBe(String(revision));
    }),
  );
  expect([0, -0, Number.MAX_SAFE_INTEGER, "-0"].map(revisionText)).toEqual(["0", "0", "9007199254740991", "0"]);
});

test.each([
  1.5,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  2 ** 53,
  "",
  " 1",
  "1 ",
  "+1",
  "1e3",
  "0x1",
  "1.0",
  "2026-01-01",
  "1".repeat(256),
])("%j is no revision", (revision) => {
  expect(() => revisionText(revision)).toThrow(TypeError);
});
