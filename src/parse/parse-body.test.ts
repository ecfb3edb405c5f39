import { hash } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonPath } from "../domain/json.ts";
import { bodyPlan } from "./body-plan.ts";
import { parseAgain, parseBody, type ParsedBody } from "./parse-body.ts";

const plan = bodyPlan({ watch: [["id"], ["type"], ["data", "object", "id"]], volatile: [["pending_webhooks"]] });

function bytesOf(text: string): Uint8Array {
  return Buffer.from(text);
}

function parsed(text: string, by = plan): ParsedBody {
  const body = parseBody(bytesOf(text), by);
  if (body.kind === "unreadable") throw new Error(body.cause);
  return body;
}

describe("parseBody() of values", () => {
  test("gives what JSON.parse gives, for any JSON value", () => {
    const text = fc.json({ maxDepth: 6, stringUnit: "binary" });
    fc.assert(
      fc.property(text, fc.constantFrom(undefined, 1, "\t"), (json, space) => {
        const spaced = JSON.stringify(JSON.parse(json), null, space);
        expect(parsed(spaced).value).toEqual(JSON.parse(spaced));
        expect(parsed(`\ufeff ${spaced}\r\n`).value).toEqual(JSON.parse(spaced));
      }),
    );
  });

  test("never throws, and is unreadable exactly where JSON.parse throws or the text is not strict", () => {
    const tokens = [
      "{",
      "}",
      "[",
      "]",
      ":",
      ",",
      '"',
      "\\",
      "1",
      "e",
      "-",
      ".",
      "true",
      "\0",
      " ",
      "é",
      '"id"',
      '"a":',
      "\\u0069",
    ];
    const texts = fc
      .array(fc.constantFrom(...tokens), { maxLength: 30, size: "max" })
      .map((pieces) => bytesOf(pieces.join("")));
    fc.assert(
      fc.property(fc.oneof(texts, fc.uint8Array()), (bytes) => {
        const body = parseBody(bytes, plan);
        const text = Buffer.from(bytes).toString("utf8");
        if (body.kind === "parsed") expect(body.value).toEqual(valueOf(text));
        else if (body.cause === "invalid_utf8") expect(text).toContain("\ufffd");
        else if (body.cause === "not_json") expect(valueOf(text)).toBeUndefined();
        else expect(body.cause).toBe("non_finite_number");
      }),
      { numRuns: 2_000 },
    );
  });

  function valueOf(text: string): unknown {
    try {
      return JSON.parse(text.replace(/^\ufeff/, ""));
    } catch {
      return undefined;
    }
  }
});

describe("parseBody() of odd bodies", () => {
  test.each([
    ["invalid UTF-8 in a string", [0x22, 0xc3, 0x28, 0x22], "invalid_utf8"],
    ["UTF-16 surrogates in UTF-8", [0x22, 0xed, 0xa0, 0x80, 0x22], "invalid_utf8"],
    ["an overlong slash", [0x22, 0xc0, 0xaf, 0x22], "invalid_utf8"],
    ["a UTF-16 byte order mark", [0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00], "invalid_utf8"],
    ["a cut character", [0x22, 0xe2, 0x82], "invalid_utf8"],
    ["a raw NUL in a string", [0x22, 0x61, 0x00, 0x62, 0x22], "not_json"],
    ["a raw NUL after the value", [0x7b, 0x7d, 0x00], "not_json"],
  ])("is unreadable for %s", (_what, bytes, cause) => {
    expect(parseBody(Uint8Array.from(bytes), plan)).toMatchObject({ kind: "unreadable", cause });
  });

  test.each([
    ["", "not_json"],
    ["\ufeff", "not_json"],
    ["\ufeff\ufeff{}", "not_json"],
    ["payload=%7B%7D", "not_json"],
    ["{}{}", "not_json"],
    ["{'a':1}", "not_json"],
    ['{"a":1,}', "not_json"],
    ["[1 2]", "not_json"],
    ["NaN", "not_json"],
    ['{"a', "not_json"],
    ['{"a\\', "not_json"],
    ["]]]]", "not_json"],
    ["[1e400]", "non_finite_number"],
    ['{"deep":{"amount":-1E999}}', "non_finite_number"],
    [`[${"9".repeat(400)}]`, "non_finite_number"],
  ])("is unreadable for %j: %s", (text, cause) => {
    expect(parseBody(bytesOf(text), plan)).toMatchObject({ kind: "unreadable", cause });
  });

  test.each([
    [String.raw`{"note":"a\u0000b"}`, { note: "a\0b" }],
    [String.raw`{"a\u0000b":1}`, { "a\0b": 1 }],
    [String.raw`{"note":"\\u0000"}`, { note: String.raw`\u0000` }],
    [String.raw`["\ud800"]`, ["\ud800"]],
    ['["1e400","[[[["]', ["1e400", "[[[["]],
    ["[1e-400]", [0]],
    ["[1e308]", [1e308]],
    ['{"id":1,"x":2,"x":3}', { id: 1, x: 3 }],
    ["\ufeff{}", {}],
    ["null", null],
    ["7", 7],
  ])("reads %j", (text, value) => {
    expect(parsed(text).value).toEqual(value);
  });

  test("bounds the depth exactly, whatever the mix, and whether or not it is closed", () => {
    for (const [open, close] of [
      ["[", "]"],
      ['{"a":', "}"],
      ['[{"a":', "}]"],
    ] as const) {
      const levels = open.startsWith("[{") ? 2 : 1;
      const nested = (depth: number): string => `${open.repeat(depth / levels)}1${close.repeat(depth / levels)}`;
      expect(parsed(nested(128)).kind).toBe("parsed");
      expect(parseBody(bytesOf(nested(128 + levels)), plan)).toMatchObject({ cause: "too_deep" });
    }
    expect(parsed("[[[]]]", bodyPlan({ depthMax: 3 })).kind).toBe("parsed");
    expect(parseBody(bytesOf("[[[[]]]]"), bodyPlan({ depthMax: 3 }))).toMatchObject({ cause: "too_deep" });
    expect(parseBody(bytesOf("[".repeat(1_000_000)), plan)).toMatchObject({ cause: "too_deep" });
    expect(parsed(`[${"[],".repeat(10_000)}[]]`).kind).toBe("parsed");
  });

  test("keeps __proto__, constructor and toString as plain properties", () => {
    const text = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"toString":1,"id":"x"}';
    const body = parsed(text, bodyPlan({ watch: [["id"], ["__proto__"], ["constructor", "name"]] }));
    expect(Object.keys(body.value as object)).toEqual(["__proto__", "constructor", "toString", "id"]);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    expect(Object.getPrototypeOf(body.value)).toBe(Object.prototype);
    expect(body.exactText(["constructor", "name"])).toBeUndefined();
    expect(body.exactText(["id"])).toBe("x");
    expect([["toString"], ["constructor"], ["__proto__"]].map((path) => body.isRepeated(path))).toEqual([
      false,
      false,
      false,
    ]);
  });
});

describe("exactText()", () => {
  const text =
    '{"id":15793596808644609,"type":"\\u0061\\"b","n":[1.0,-0,1e2,9007199254740993],"data":{"object":{"id":0}},"t":true,"o":{}}';
  const cases: readonly (readonly [JsonPath, string | undefined])[] = [
    [["id"], "15793596808644609"],
    [["type"], 'a"b'],
    [["n", 0], "1.0"],
    [["n", 1], "-0"],
    [["n", 2], "1e2"],
    [["n", 3], "9007199254740993"],
    [["data", "object", "id"], "0"],
    [["t"], undefined],
    [["o"], undefined],
    [["n"], undefined],
    [["n", "length"], undefined],
    [["missing"], undefined],
    [["id", "x"], undefined],
  ];

  test.each(cases)("of %j is %j, on the plan's paths and off them", (path, expected) => {
    expect(parsed(text).exactText(path)).toBe(expected);
    expect(parsed(text, bodyPlan({ watch: [path] })).exactText(path)).toBe(expected);
    expect(parsed(text, bodyPlan({})).exactText(path)).toBe(expected);
  });

  test("tells neighbouring integers beyond 2^53 apart", () => {
    const texts = ["15793596808644608", "15793596808644609"].map((id) => parsed(`{"id":${id}}`).exactText(["id"]));
    expect(new Set(texts).size).toBe(2);
  });

  test("finds the digits of any number in any surroundings", () => {
    const around = fc.json({ stringUnit: "binary", maxDepth: 4 });
    fc.assert(
      fc.property(fc.bigInt(), around, fc.string({ unit: "binary" }), (number, other, key) => {
        const body = parsed(
          `{${JSON.stringify(`${key}_`)}:${other},"data":{"a":${other},"object":{"id": ${number} }}}`,
        );
        expect(body.exactText(["data", "object", "id"])).toBe(String(number));
      }),
    );
  });

  test.each([
    ["[9007199254740991]", false],
    ["[9007199254740992]", true],
    ["[-9007199254740993]", true],
    ["[9007199254740993.0]", false],
    ['["9007199254740993"]', false],
    ["[1,2,3]", false],
  ])("hasInexactIntegers of %s is %s", (json, expected) => {
    expect(parsed(json).hasInexactIntegers).toBe(expected);
  });
});

describe("isRepeated()", () => {
  test.each<readonly [string, JsonPath, boolean]>([
    ['{"id":1,"id":1}', ["id"], true],
    ['{"id":1,"x":{"id":2}}', ["id"], false],
    ['{"x":{"id":2,"id":3},"id":1}', ["id"], false],
    [String.raw`{"id":1,"\u0069d":2}`, ["id"], true],
    [String.raw`{"id":1,"\\u0069d":2}`, ["id"], false],
    ['{"id":1,"ID":2}', ["id"], false],
    ['{"data":{"object":{"id":1}},"data":{}}', ["data", "object", "id"], true],
    ['{"data":{"object":{},"object":{"id":1}}}', ["data", "object", "id"], true],
    ['{"data":{"object":{"id":1,"x":{"id":2}}}}', ["data", "object", "id"], false],
    ['{"data":[{"object":1},{"object":2}]}', ["data", "object", "id"], false],
    ['{"other":1,"other":2,"id":1}', ["id"], false],
    ['{"other":1,"other":2}', ["other"], true],
    ['{"list":[{"id":1},{"id":2}]}', ["list", 1, "id"], false],
    ['{"list":[{"id":1},{"id":2,"id":3}]}', ["list", 1, "id"], true],
    ['{"list":[{"id":1,"id":3},{"id":2}]}', ["list", 1, "id"], false],
    ['{"list":[[],{"a":[1,{}]},{"id":2,"id":2}]}', ["list", 2, "id"], true],
  ])("of %s at %j is %s", (text, path, expected) => {
    expect(parsed(text).isRepeated(path)).toBe(expected);
    expect(parsed(text, bodyPlan({ watch: [path] })).isRepeated(path)).toBe(expected);
  });
});

describe("digest", () => {
  const sha256 = (text: string): string => hash("sha256", bytesOf(text), "hex");
  const rest = '{"id":"é","pending_webhooks": ,"x":{"pending_webhooks":7}}';
  const withPending = (value: string): string => rest.replace(": ,", `: ${value},`);

  test("is of the raw bytes where nothing is volatile", () => {
    const text = '\ufeff{"pending_webhooks":1}';
    expect(parsed(text, bodyPlan({})).digest).toBe(`1:${sha256(text)}`);
  });

  test.each(["1", "22", '"a\\"b"', "null", "true", '{"pending_webhooks":[1,{}]}', "[]", "1e5"])(
    "leaves out the volatile value %s and nothing else",
    (value) => {
      expect(parsed(withPending(value)).digest).toBe(`1/pending_webhooks:${sha256(rest)}`);
      expect(parsed(`\ufeff${withPending(value)}`).digest).toBe(`1/pending_webhooks:${sha256(`\ufeff${rest}`)}`);
    },
  );

  test("differs for every change outside the volatile value, whitespace included", () => {
    const { digest } = parsed(withPending("1"));
    for (const other of [withPending("1 "), withPending("1").replace("7", "8"), `${withPending("1")}\n`]) {
      expect(parsed(other).digest).not.toBe(digest);
    }
  });

  test("cuts a volatile value inside a volatile value, and one that stands twice, once each", () => {
    const nested = bodyPlan({ volatile: [["a", "b"], ["a"]] });
    expect(parsed('{"a":{"b":1,"c":2},"d":3,"a":4}', nested).digest).toBe(`1/a,/a/b:${sha256('{"a":,"d":3,"a":}')}`);
  });

  test("of an unreadable body is of its raw bytes", () => {
    const bytes = Uint8Array.from([0xc3, 0x28]);
    expect(parseBody(bytes, plan).digest).toBe(`1/pending_webhooks:${hash("sha256", bytes, "hex")}`);
    expect(parseBody(bytesOf("{"), plan).digest).toBe(`1/pending_webhooks:${sha256("{")}`);
  });
});

describe("parseAgain", () => {
  test("gives what parseBody gave, also the digits of large numbers, on any path", () => {
    const plan = bodyPlan({ watch: [["id"]] });
    const texts = ['{"id":15793596808644609,"a":[{"n":1e2}]}', '\ufeff{"id":"x","__proto__":1}', "[1,2]", '"text"'];
    for (const text of texts) {
      const bytes = Buffer.from(text);
      const first = parseBody(bytes, plan);
      if (first.kind !== "parsed") throw new Error(first.cause);
      const again = parseAgain(bytes, plan);
      expect(again.value).toEqual(first.value);
      for (const path of [["id"], ["a", 0, "n"], ["nowhere"], []]) {
        expect(again.exactText(path)).toBe(first.exactText(path));
      }
    }
  });
});
