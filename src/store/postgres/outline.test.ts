import { expect, test } from "vitest";
import { outline } from "./outline.ts";

test.each<[string, string, boolean]>([
  ["SELECT 1", "SELECT", true],
  ["(SELECT 1) UNION (SELECT 2)", "SELECT", true],
  ["VALUES (1)", "VALUES", true],
  ["  -- why\n/* a /* nested */ note */ select 1", "SELECT", true],
  ["INSERT INTO a VALUES (1)", "INSERT", false],
  ["insert into a values (1) returning id", "INSERT", true],
  ["UPDATE a SET b = (SELECT 1 FROM c RETURNING)", "UPDATE", false],
  ["UPDATE a SET b = 'x RETURNING y'", "UPDATE", false],
  ['DELETE FROM a WHERE "RETURNING" = $$ RETURNING $$', "DELETE", false],
  ["DELETE FROM a WHERE b = E'it\\'s RETURNING'", "DELETE", false],
  ["WITH a AS (DELETE FROM b RETURNING id) SELECT id FROM a", "SELECT", true],
  ["WITH a AS MATERIALIZED (SELECT 1), b (x) AS (SELECT 2) INSERT INTO c SELECT x FROM b", "INSERT", false],
  ["WITH RECURSIVE a AS (SELECT 1) UPDATE b SET c = 1 RETURNING c", "UPDATE", true],
  ["CREATE TABLE a (b text)", "CREATE", false],
  ["SAVEPOINT mine", "SAVEPOINT", false],
])("%s is %s, with rows: %s", (text, command, returnsRows) => {
  expect(outline(text)).toMatchObject({ command, returnsRows, isSeveral: false });
});

test.each([
  ["SELECT 1; SELECT 2", true],
  ["SELECT 1; COMMIT", true],
  ["SELECT 1 ; ; (SELECT 2)", true],
  ["SELECT 1;", false],
  [";;SELECT 1; -- the end\n", false],
  ["SELECT ';', \";\", $a$;$a$, /* ; */ 1", false],
])("%s is several statements: %s", (text, isSeveral) => {
  expect(outline(text).isSeveral).toBe(isSeveral);
});

test("places for values are those that the server sees, in order, each with its number", () => {
  const text = "SELECT $2, '$1', \"$1\", $$ $1 $$, a$1, /* $1 */ $1::int[] -- $1\n, E'\\'$1', $10";
  const places = outline(text).places.map(({ at, end, number }) => [text.slice(at, end), number]);
  expect(places).toEqual([
    ["$2", 2],
    ["$1", 1],
    ["$10", 10],
  ]);
});
