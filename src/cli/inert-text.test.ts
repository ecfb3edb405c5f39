import * as fc from "fast-check";
import { expect, test } from "vitest";
import { inertLines, inertText, jsonLine } from "./inert-text.ts";

const anyText = fc.array(fc.integer({ min: 0, max: 0x10_ff_ff })).map((points) => String.fromCodePoint(...points));
const active = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

test("nothing that a terminal acts on or that hides from the eye comes through", () => {
  fc.assert(
    fc.property(anyText, (text) => {
      expect(inertText(text)).not.toMatch(active);
      expect(jsonLine({ text })).not.toMatch(active);
    }),
  );
});

test("JSON reads back as what was written", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(JSON.parse(jsonLine(value))).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
});

test("what is active is shown as its code point, and plain text stays", () => {
  expect(inertText("Zoë 北京 \u001b[31m\u202e\u{e0041}")).toBe(String.raw`Zoë 北京 \u{1b}[31m\u{202e}\u{e0041}`);
  expect(inertLines("a\tb\nc\r")).toBe("a\\u{9}b\nc\\u{d}");
  expect(jsonLine("\u009b\u{e0041}")).toBe(String.raw`"\u009b\udb40\udc41"`);
});
