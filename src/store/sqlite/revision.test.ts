import * as fc from "fast-check";
import { expect, test } from "vitest";
import { decodeRevision, encodeRevision } from "./revision.ts";

const integers = fc.oneof(
  fc.bigInt(),
  fc.bigInt({ min: -1000n, max: 1000n }),
  fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }),
);

test("encoded revisions sort as the integers do", () => {
  fc.assert(
    fc.property(integers, integers, (left, right) => {
      const [a, b] = [encodeRevision(String(left)), encodeRevision(String(right))];
      expect(Math.sign(Buffer.compare(Buffer.from(a), Buffer.from(b)))).toBe(left < right ? -1 : left > right ? 1 : 0);
    }),
  );
});

test("a revision comes back as it was given, without leading zeros and a plus sign", () => {
  fc.assert(
    fc.property(integers, (integer) => {
      expect(decodeRevision(encodeRevision(String(integer)))).toBe(String(integer));
    }),
  );
  expect(decodeRevision(encodeRevision("+0042"))).toBe("42");
  expect(decodeRevision(encodeRevision("-0"))).toBe("0");
});

test.each(["", "1.5", "1e3", " 1", "0x10", "--1", "1\n"])("%j is no revision", (text) => {
  expect(() => encodeRevision(text)).toThrow(RangeError);
});
