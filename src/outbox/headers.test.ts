import { describe, expect, test } from "vitest";
import { mergeHeaders, type HeaderFields } from "./headers.ts";

const options = { system: { "Idempotency-Key": "cf-1", "content-type": "application/json" }, bytesMax: 16_384 };

function problemOf(own: HeaderFields, system: HeaderFields = options.system): string | undefined {
  const merged = mergeHeaders(own, { ...options, system });
  return merged.fits ? undefined : merged.problem;
}

test("the effect's headers and the system's go out together", () => {
  expect(mergeHeaders({ Authorization: "Bearer t", "X-Ümlaut": "é" }, options).fits).toBe(false);
  expect(mergeHeaders({ Authorization: "Bearer t", "X-Name": "é\tü" }, options)).toEqual({
    fits: true,
    headers: { Authorization: "Bearer t", "X-Name": "é\tü", ...options.system },
  });
});

describe("a header of the effect is refused", () => {
  test.each([
    "Idempotency-Key",
    "idempotency-key",
    "IDEMPOTENCY-KEY",
    "Idempotency_Key",
    "Content-Type",
    "Host",
    "hOsT",
    "Content-Length",
    "content_length",
    "Transfer-Encoding",
    "TRANSFER-ENCODING",
    "Connection",
    "Keep-Alive",
    "Upgrade",
    "TE",
    "Trailer",
    "Expect",
    "Accept-Encoding",
    "Proxy-Authorization",
  ])("when its name is %s", (name) => {
    expect(problemOf({ [name]: "x" })).toMatch(/is already set|belongs to the connection/);
  });

  test.each([
    " Host",
    "Host ",
    "Host\t",
    "Idempotency-Key ",
    "Host:",
    "Ho st",
    "",
    "X\r\nHost",
    "X\n",
    "X\0",
    "Höst",
    "X(y)",
    "[x]",
  ])("when its name is %j, no token", (name) => {
    expect(problemOf({ [name]: "x" })).toContain("no header name");
  });

  test.each([
    "a\r\nX-Injected: 1",
    "a\nb",
    "a\rb",
    "a\0b",
    "\x7f",
    "\x1b[0m",
    "\x85\r",
    "€",
    "日本",
    "\u{1f600}",
    "a\n",
  ])("when its value is %j", (value) => {
    expect(problemOf({ "x-ref": value })).toContain("header x-ref has a line break, another control character");
  });

  test.each([undefined, null, 7, ["a", "b"]])("when its value is %j, no string", (value) => {
    expect(problemOf({ "x-ref": value as unknown as string })).toContain("not a string");
  });

  test("when it is there twice in other case", () => {
    expect(problemOf({ "X-Ref": "1", "x-ref": "2" })).toContain("already set");
  });
});

test("a system header is checked for injection too", () => {
  expect(problemOf({}, { "Idempotency-Key": "a\r\nHost: evil.test" })).toContain("has a line break");
  expect(problemOf({}, { "Idempotency Key": "a" })).toContain("no header name");
});

test("headers are bounded together, and exactly", () => {
  const system = { a: "b" };
  expect(mergeHeaders({ c: "d" }, { system, bytesMax: 12 }).fits).toBe(true);
  expect(mergeHeaders({ c: "d" }, { system, bytesMax: 11 })).toEqual({
    fits: false,
    problem: "headers have 12 bytes, allowed are 11",
  });
});

test("no reason shows a value, nor a name that may be a whole header line", () => {
  const secret = "canary-5b1f";
  const reasons = [
    problemOf({ authorization: `Bearer ${secret}\n` }),
    problemOf({ [`authorization: Bearer ${secret}`]: "" }),
    problemOf({ host: secret }),
    problemOf({ authorization: "x".repeat(20_000) + secret }),
  ];
  expect(reasons).not.toContain(undefined);
  expect(reasons.join("\n")).not.toContain(secret);
});

test("a __proto__ header is a header like any other", () => {
  const own = JSON.parse('{"__proto__":"x"}') as HeaderFields;
  const merged = mergeHeaders(own, options);
  expect(merged.fits && Object.keys(merged.headers)).toContain("__proto__");
});
