import * as fc from "fast-check";
import { Client } from "pg";
import { expect, test } from "vitest";
import { postgresServer } from "../../../test/support/postgres.ts";
import { spelledArray } from "./array-text.ts";
import { binaryArray } from "./relation.ts";

const text = fc.string({ unit: "binary" }).map((value) => value.replaceAll("\0", " ").toWellFormed());
const arrays = {
  text: fc.array(fc.option(fc.oneof(text, fc.constantFrom("", "NULL", "null", '"', "\\", "{}", ",", " a ")))),
  int8: fc.array(fc.option(fc.maxSafeInteger())),
  bool: fc.array(fc.option(fc.boolean())),
  bytea: fc.array(fc.option(fc.uint8Array({ maxLength: 20 }))),
};

test.each(["text", "int8", "bool", "bytea"] as const)(
  "an array of %s that is spelled out is the one that its binary form is",
  async (type) => {
    await using database = await (await postgresServer()).createDatabase();
    const client = new Client(database.url);
    await client.connect();
    try {
      const property = fc.asyncProperty(arrays[type], async (values) => {
        const binary = binaryArray(type, values as never);
        const { rows } = await client.query(`SELECT $1::${type}[] IS NOT DISTINCT FROM $2::${type}[] AS same`, [
          binary,
          spelledArray(binary),
        ]);
        expect(rows).toEqual([{ same: true }]);
      });
      await fc.assert(property, { numRuns: 200 });
    } finally {
      await client.end();
    }
  },
);
