import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeStrict } from "./decode.ts";
import type { Encoding } from "./scheme.ts";

describe("decodeStrict()", () => {
  test.each<readonly [Encoding, string, string]>([
    ["hex", "00ff", "00ff"],
    ["hex", "00FF", "00ff"],
    ["hex", "", ""],
    ["base64", "AP8=", "00ff"],
    ["base64", "+/8=", "fbff"],
    ["base64url", "-_8", "fbff"],
    ["base64url", "AP8", "00ff"],
  ])("reads %s %j as %s", (encoding, text, expected) => {
    expect(decodeStrict(text, encoding)?.toString("hex")).toBe(expected);
  });

  test.each<readonly [Encoding, string, string]>([
    ["hex", "zz11", "letters beyond f"],
    ["hex", "11zz", "letters beyond f at the end"],
    ["hex", "0", "half a byte"],
    ["hex", "0x00", "a prefix"],
    ["hex", " 00", "a space"],
    ["hex", "00\n", "a newline"],
    ["hex", "００", "full-width digits"],
    ["base64", "AP8", "no padding"],
    ["base64", "AP8==", "too much padding"],
    ["base64", "AP9=", "unused bits set"],
    ["base64", "AP8=AP8=", "padding in the middle"],
    ["base64", "-_8=", "the other alphabet"],
    ["base64", "AP 8=", "a space"],
    ["base64", "AP8=\n", "a newline"],
    ["base64", "A", "six bits"],
    ["base64", "====", "padding alone"],
    ["base64url", "AP8=", "padding"],
    ["base64url", "+/8", "the other alphabet"],
    ["base64url", "AP9", "unused bits set"],
  ])("refuses %s %j: %s", (encoding, text) => {
    expect(decodeStrict(text, encoding)).toBeUndefined();
  });

  test.each(["hex", "base64", "base64url"] as const)(
    "reads back any bytes written as %s, and any text only if it is what they write",
    (encoding) => {
      fc.assert(
        fc.property(
          fc.uint8Array({ maxLength: 100, size: "max" }),
          fc.base64String({ size: "small" }),
          (bytes, text) => {
            const written = Buffer.from(bytes).toString(encoding);
            expect(decodeStrict(written, encoding)).toEqual(Buffer.from(bytes));
            const read = decodeStrict(text, encoding)?.toString(encoding);
            expect([undefined, text, text.toLowerCase()]).toContain(read);
          },
        ),
      );
    },
  );
});
