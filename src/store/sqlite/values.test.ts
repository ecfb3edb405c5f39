import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import type { SqlValue } from "../../domain/sql.ts";
import { bindValues, readRows } from "./values.ts";

const database = new DatabaseSync(":memory:");

function through(value: SqlValue): unknown {
  const statement = database.prepare("SELECT ? AS value");
  statement.setReadBigInts(true);
  return readRows(statement.all(...bindValues([value])))[0]?.["value"];
}

test.for([
  null,
  "text",
  "",
  "a\u0000b",
  0,
  -1,
  1.5,
  2 ** 53 - 1,
  -(2 ** 53 - 1),
  2n ** 53n,
  -(2n ** 63n),
  2n ** 63n - 1n,
  1e300,
])("%s comes back as it went in", (value) => expect(through(value)).toBe(value));

test("booleans go in as 0 and 1, small bigints come back as numbers", () => {
  expect([through(true), through(false), through(7n)]).toEqual([1, 0, 7]);
});

test("whole numbers are bound as integers, so that text made of them has no fraction", () => {
  expect(database.prepare("SELECT 'order-' || ? AS id, typeof(?) AS type").get(...bindValues([5, 5]))).toMatchObject({
    id: "order-5",
    type: "integer",
  });
});

test.each([[undefined], [Number.NaN], [Symbol("s")], [{}], [() => 1], [new Date(0)], [[1]]])(
  "%s is refused by its position",
  (value) => {
    expect(() => bindValues(["fine", value as SqlValue])).toThrow(/Cannot bind parameter 2: it is/);
    expect(() => bindValues([value as SqlValue])).toThrow(TypeError);
  },
);
