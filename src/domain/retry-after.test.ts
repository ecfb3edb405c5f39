import * as fc from "fast-check";
import { expect, test } from "vitest";
import { retryAfterMs } from "./retry-after.ts";

const now = Date.UTC(2026, 10, 30, 12, 0, 0);

test.each([
  ["120", 120_000],
  ["1", 1_000],
  ["007", 7_000],
  ["86400", 86_400_000],
  ["Mon, 30 Nov 2026 12:00:01 GMT", 1_000],
  ["Mon, 30 Nov 2026 12:02:00 GMT", 120_000],
  ["Tue, 01 Dec 2026 12:00:00 GMT", 86_400_000],
  ["Monday, 30-Nov-26 12:02:00 GMT", 120_000],
  ["Mon Nov 30 12:02:00 2026", 120_000],
  ["Tue Dec  1 12:00:00 2026", 86_400_000],
  ["Thu, 29 Feb 2028 12:00:00 GMT", Date.UTC(2028, 1, 29, 12) - now],
  ["Mon, 30 Nov 2026 12:00:60 GMT", 60_000],
])("Retry-After %j asks for %i ms", (value, expected) => {
  expect(retryAfterMs([value], now)).toBe(expected);
});

test.each([
  "0",
  "000",
  "-5",
  "+5",
  "abc",
  "",
  " ",
  "1e9",
  "1.5",
  "0x10",
  "120 s",
  "120, 120",
  "12٠",
  "Infinity",
  "NaN",
  "Mon, 30 Nov 2026 12:00:00 GMT",
  "Mon, 30 Nov 2026 11:59:59 GMT",
  "Sun, 06 Nov 1994 08:49:37 GMT",
  "Sunday, 06-Nov-94 08:49:37 GMT",
  "Sun Nov  6 08:49:37 1994",
  "Mon, 31 Feb 2027 12:00:00 GMT",
  "Mon, 29 Feb 2027 12:00:00 GMT",
  "Mon, 00 Dec 2026 12:00:00 GMT",
  "Mon, 01 Foo 2027 12:00:00 GMT",
  "Mon, 30 Nov 2026 24:00:00 GMT",
  "Mon, 30 Nov 2026 12:60:00 GMT",
  "Mon, 30 Nov 2026 12:02:00 CET",
  "Mon, 30 Nov 2026 12:02:00",
  "Mon, 30 Nov 2027 12:02:00 GMT, Mon, 30 Nov 2027 12:02:00 GMT",
  "2026-12-01T12:00:00Z",
])("Retry-After %j falls back to backoff", (value) => {
  expect(retryAfterMs([value], now)).toBeUndefined();
});

test("no header and two headers fall back to backoff", () => {
  expect(retryAfterMs(undefined, now)).toBeUndefined();
  expect(retryAfterMs([], now)).toBeUndefined();
  expect(retryAfterMs(["120", "120"], now)).toBeUndefined();
});

test("a number of seconds beyond any number stays a finite delay for the caller to clip", () => {
  expect(retryAfterMs(["9".repeat(400)], now)).toBe(Number.MAX_SAFE_INTEGER);
});

test("any text gives undefined or a finite delay above zero", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.integer().map(String), fc.date().map(String)), (text) => {
      const delay = retryAfterMs([text], now);
      expect(delay === undefined || (Number.isFinite(delay) && delay > 0)).toBe(true);
    }),
  );
});

test("every date that JavaScript writes as an HTTP-date is read back to the second", () => {
  const seconds = fc.integer({ min: 1, max: 4_000_000_000 });
  fc.assert(
    fc.property(seconds, (ahead) => {
      expect(retryAfterMs([new Date(now + ahead * 1_000).toUTCString()], now)).toBe(ahead * 1_000);
    }),
  );
});
