import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fixed } from "../domain/limits.ts";
import { readForm } from "./read-form.ts";

function read(form: string | Uint8Array, json?: string): string {
  const read = readForm(typeof form === "string" ? Buffer.from(form) : form, json === undefined ? {} : { json });
  return read.kind === "content" ? Buffer.from(read.content).toString() : read.cause;
}

describe("a form body", () => {
  test.each([
    ["a=1&b=2", '{"a":"1","b":"2"}'],
    ["a=x+y%2B%20z&b", '{"a":"x y+ z","b":""}'],
    ["a=1=2&&", '{"a":"1=2"}'],
    ["", "{}"],
    ["a=%00%22", '{"a":"\\u0000\\""}'],
    ["name=%E2%9C%93&caf\u00e9=\u2713", '{"name":"\u2713","caf\u00e9":"\u2713"}'],
    ["\ufefffirst=1", '{"first":"1"}'],
    ["id=1&id=2", '{"id":"1","id":"2"}'],
    ["__proto__=1", '{"__proto__":"1"}'],
  ])("%j is decoded once", (form, json) => {
    expect(read(form)).toBe(json);
  });

  test.each([
    ["a=%", "invalid_form"],
    ["a=%2", "invalid_form"],
    ["a=%zz", "invalid_form"],
    ["%c3=1", "invalid_form"],
    ["a=%c3%28", "invalid_form"],
    ["a=%ed%a0%80", "invalid_form"],
    ["a=%c0%80", "invalid_form"],
    ["&".repeat(fixed.formFields), "too_many_fields"],
    [Buffer.from([0x61, 0x3d, 0xff]), "invalid_utf8"],
  ])("%j is not guessed at", (form, cause) => {
    expect(read(form)).toBe(cause);
  });

  test("with JSON in a field is that JSON, once decoded and standing once", () => {
    expect(read("x=1&payload=%7B%22a%22%3A%22b%2Bc%2500%22%7D", "payload")).toBe('{"a":"b+c%00"}');
    expect(read("payload=1&payload=1", "payload")).toBe("form_field_repeated");
    expect(read("x=1", "payload")).toBe("form_field_missing");
  });

  test("says what another encoder put into it", () => {
    const text = fc.string({ unit: "grapheme" });
    fc.assert(
      fc.property(fc.dictionary(text, text, { noNullPrototype: true }), (fields) => {
        expect(JSON.parse(read(new URLSearchParams(fields).toString()))).toEqual(fields);
      }),
    );
  });
});
