import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonPath } from "../domain/json.ts";
import { splitBatch } from "./split-batch.ts";

function split(body: string | Uint8Array, path: JsonPath): readonly string[] | string {
  const items = splitBatch(typeof body === "string" ? Buffer.from(body) : body, path);
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
