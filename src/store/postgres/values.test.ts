import { Client } from "pg";
import { expect, onTestFinished, test } from "vitest";
import { postgresServer } from "../../../test/support/postgres.ts";
import type { SqlValue } from "../../domain/sql.ts";
import { commit } from "../conformance/bundle.conformance.ts";
import { postgresBundle } from "./bundle.conformance.ts";
import { bindValues, plain, readTypes } from "./values.ts";

async function valueOf(expression: string, values: readonly SqlValue[] = []): Promise<SqlValue | undefined> {
  const { store, dispose } = await postgresBundle();
  try {
    const [row] = await commit(store, (tx) => tx.run(`SELECT ${expression} AS value`, values));
    return row?.["value"];
  } finally {
    await dispose();
  }
}

test.each<[string, SqlValue]>([
  ["1::int2", 1],
  ["(-2147483648)::int4", -2_147_483_648],
  ["9007199254740991::int8", 9_007_199_254_740_991],
  ["9007199254740993::int8", 9_007_199_254_740_993n],
  ["0.1::float8", 0.1],
  ["'Infinity'::float8", Infinity],
  ["0.10::numeric", "0.10"],
  ["true", true],
  [String.raw`'\x00ff'::bytea`, Uint8Array.of(0, 255)],
  [`'{"b": 1, "a": 12345678901234567890}'::json`, '{"b": 1, "a": 12345678901234567890}'],
  ["'2026-01-02 03:04:05.678+02'::timestamptz", "2026-01-02T01:04:05.678Z"],
  ["'2026-01-02 03:04:05+00'::timestamptz", "2026-01-02T03:04:05.000Z"],
  ["'2026-01-02 03:04:05.123456+05:30'::timestamptz", "2026-01-01T21:34:05.123456Z"],
  ["'infinity'::timestamptz", "infinity"],
  ["'0044-03-15 12:00:00+00 BC'::timestamptz", "0044-03-15 12:00:00+00 BC"],
  ["'2026-01-02 03:04:05'::timestamp", "2026-01-02T03:04:05"],
  ["'2026-01-02'::date", "2026-01-02"],
  ["ARRAY[1, 2]", "{1,2}"],
  ["'6ba7b810-9dad-11d1-80b4-00c04fd430c8'::uuid", "6ba7b810-9dad-11d1-80b4-00c04fd430c8"],
])("%s comes back as text, number, bigint, boolean or bytes", async (expression, expected) => {
  const value = await valueOf(expression);
  expect(value instanceof Uint8Array ? Uint8Array.from(value) : value).toEqual(expected);
});

test("an instant that went in as ISO text comes back as the same text", async () => {
  const text = "2026-12-31T23:59:59.999Z";
  expect(await valueOf("?::timestamptz", [text])).toBe(text);
});

test("bytes come back in memory of their own", async () => {
  const bytes = (await valueOf("?::bytea", [Uint8Array.of(1, 2, 3)])) as Uint8Array;
  expect(bytes.buffer.byteLength).toBe(3);
});

test("what somebody's session shows otherwise is read the same", async () => {
  const { createDatabase } = await postgresServer();
  const database = await createDatabase();
  onTestFinished(() => database[Symbol.asyncDispose]());
  const client = new Client({ connectionString: database.url });
  await client.connect();
  await client.query(`ALTER DATABASE ${database.name} SET timezone = 'America/St_Johns'`);
  await client.end();
  const other = new Client({ connectionString: database.url, types: readTypes });
  await other.connect();
  onTestFinished(() => other.end());
  const { rows } = await other.query("SELECT '2026-07-01 12:00:00+00'::timestamptz AS at");
  expect(rows).toEqual([{ at: "2026-07-01T12:00:00.000Z" }]);
});

test.each([
  [undefined, "undefined"],
  [Number.NaN, "NaN"],
  [{}, "object"],
  [() => 1, "function"],
  [new Date(0), "object"],
])("%s is refused by the number of its parameter", (value, what) => {
  expect(() => bindValues([1, value as SqlValue])).toThrow(`Cannot bind parameter 2: it is ${what};`);
});

test("free text loses its NULs, which no column can hold, and nothing else", () => {
  expect(plain("a\0b\0")).toBe("a\uFFFDb\uFFFD");
  expect(plain("a\n💶")).toBe("a\n💶");
  expect(plain(null)).toBeNull();
});
