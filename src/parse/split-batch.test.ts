import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonPath } from "../domain/json.ts";
import { splitBatch } from "./split-batch.ts";

function split(body: string | Uint8Array, path: JsonPath, within?: JsonPath): readonly string[] | string {
  const items = splitBatch(typeof body === "string" ? Buffer.from(body) : body, { path, within });
  return Array.isArray(items) ? items.map(String) : items.cause;
}

test("items are cut out as they stand, digits, escapes and inner spaces included", () => {
  const items = ['{"id": 9007199254740993}', '[1,[2,"]"],{}]', '"a,b\\\\\\"]"', "1e400", "null", '{"a":{"b":"}"}}'];
  expect(split(`{"x":[0],"of":{"list":[ ${items.join(" ,\r\n")}\t]},"y":1}`, ["of", "list"])).toEqual(items);
  expect(split(`\ufeff[${items.join(",")}]`, [])).toEqual(items);
});

test("an empty list has none", () => {
  expect(split('{"list":[ ]}', ["list"])).toEqual([]);
});

test.each([
  ['{"list":{}}', "not_a_batch"],
  ['{"other":[]}', "not_a_batch"],
  ['{"list":[1],"list":[2]}', "not_a_batch"],
  ['{"__proto__":{"list":[]}}', "not_a_batch"],
  ['{"list":[1}', "not_json"],
  [`{"list":${"[".repeat(200)}${"]".repeat(200)}}`, "too_deep"],
  [Buffer.from([0x5b, 0xff, 0x5d]), "invalid_utf8"],
])("%j is no batch", (body, cause) => {
  expect(split(body, ["list"])).toBe(cause);
});

test("the items of any list are its elements, however it is spaced", () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue(), { maxLength: 6 }), fc.constantFrom(0, 2), (list, space) => {
      const items = split(JSON.stringify({ list }, null, space), ["list"]);
      expect((items as readonly string[]).map((item) => JSON.parse(item) as unknown)).toEqual(
        JSON.parse(JSON.stringify(list)),
      );
    }),
  );
});

describe("an inner list", () => {
  const inner = (body: string): readonly string[] | string => split(body, ["entry"], ["changes"]);

  test("gives one item for each element, with all that stands around it as it stands", () => {
    const entry = '{"id" : 9007199254740993,"changes":[ {"a":[1,2]}, {"b":"]"} ], "time":1}';
    expect(inner(`{"entry":[${entry},{"changes":[{"c":1}],"id":2}]}`)).toEqual([
      '{"id" : 9007199254740993,"changes":[{"a":[1,2]}], "time":1}',
      '{"id" : 9007199254740993,"changes":[{"b":"]"}], "time":1}',
      '{"changes":[{"c":1}],"id":2}',
    ]);
  });

  test.each([
    ["an empty one", '{"id":1,"changes":[]}'],
    ["none", '{"id":1,"messaging":[1,2]}'],
    ["one that is no list", '{"id":1,"changes":{"0":1}}'],
    ["two of them", '{"changes":[1,2],"changes":[3]}'],
    ["an item that is no object", "7"],
  ])("leaves an item whole that has %s", (_what, item) => {
    expect(inner(`{"entry":[${item}]}`)).toEqual([item]);
  });

  test("is not taken apart where the items would repeat more than is kept of a body", () => {
    const batch = (count: number): string =>
      `{"entry":[{"around":"${"x".repeat(4_096)}","changes":[${Array.from({ length: count }, (_each, index) => index).join(",")}]}]}`;
    expect(inner(batch(1_000))).toHaveLength(1_000);
    expect(inner(batch(1_100))).toBe("not_a_batch");
  });
});
