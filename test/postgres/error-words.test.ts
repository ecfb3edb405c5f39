import { expect, onTestFinished, test } from "vitest";
import { errorSummary } from "../../src/domain/error-summary.ts";
import { commit } from "../../src/store/conformance/bundle.conformance.ts";
import { postgresBundle } from "../../src/store/postgres/bundle.conformance.ts";

const create = `CREATE TABLE notes (
  id int PRIMARY KEY, body text NOT NULL, parent int REFERENCES notes (id), size int CONSTRAINT small CHECK (size < 9))`;

test.for([
  ["SELECT * FROM missing", '42P01 (relation "missing" does not exist)'],
  ["INSERT INTO notes (id, bdy) VALUES (1, 'canary')", '42703 (column "bdy" of relation "notes" does not exist)'],
  [
    "INSERT INTO notes VALUES (1, 'canary'), (1, 'canary')",
    '23505 (duplicate key value violates unique constraint "notes_pkey")',
  ],
  [
    "INSERT INTO notes VALUES (1, NULL)",
    '23502 (null value in column "body" of relation "notes" violates not-null constraint)',
  ],
  [
    "INSERT INTO notes VALUES (1, 'canary', 7)",
    '23503 (insert or update on table "notes" violates foreign key constraint "notes_parent_fkey")',
  ],
  [
    "INSERT INTO notes VALUES (1, 'canary', NULL, 10)",
    '23514 (new row for relation "notes" violates check constraint "small")',
  ],
  ["SELECT 'canary'::int", "22P02"],
  ['SELECT id FROM notes WHERE body = "canary"', "42703"],
] as const)("of what PostgreSQL says of %j only names of the schema are told", async ([statement, told]) => {
  const { store, dispose } = await postgresBundle();
  onTestFinished(dispose);
  await commit(store, (tx) => tx.run(create, []));
  const error = await commit(store, async (tx) => void (await tx.run(statement, []))).catch(
    (failed: unknown) => failed,
  );
  const summary = errorSummary(error);
  expect(summary.replace(/^\w+ /, "").replace(/ at [^ ]+$/, "")).toBe(told);
  expect(summary).toMatch(/ at error-words\.test\.ts:\d+$/);
  expect(summary).not.toContain("canary");
});
