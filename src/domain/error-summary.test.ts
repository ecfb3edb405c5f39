import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { errorSummary } from "./error-summary.ts";
import { CounterfoilError } from "./errors.ts";
import { Misuse } from "./misuse.ts";

function failing(statement: string): unknown {
  const database = new DatabaseSync(":memory:");
  try {
    database.exec(
      "CREATE TABLE t (a TEXT UNIQUE); INSERT INTO t VALUES ('canary'); CREATE VIRTUAL TABLE f USING fts5(a)",
    );
    database.exec(statement);
    return undefined;
  } catch (error) {
    return error;
  } finally {
    database.close();
  }
}

test("an error is described by class, code and the place where it was thrown, never by its message", () => {
  const error = Object.assign(new RangeError("canary"), { code: "ERR_OUT" });
  expect(errorSummary(error)).toMatch(/^RangeError ERR_OUT at error-summary\.test\.ts:\d+$/);
});

test("what Counterfoil says of its own use is told: it holds nothing of the data", () => {
  expect(errorSummary(new Misuse("Cannot build a key: part 2 is undefined, not a string"))).toContain(
    "(Cannot build a key",
  );
  expect(errorSummary(new CounterfoilError("STORE_FULL", "Cannot commit: no room"))).toContain(
    "STORE_FULL (Cannot commit",
  );
});

test("of SQLite's words only those about the schema are told", () => {
  expect(errorSummary(failing("SELECT * FROM missing"))).toContain("(no such table: missing)");
  expect(errorSummary(failing("INSERT INTO t VALUES ('canary')"))).toContain("(UNIQUE constraint failed: t.a)");
  expect(errorSummary(failing("SELECT * FROM f WHERE f MATCH 'canary:x'"))).not.toContain("canary");
  expect(errorSummary(failing("SELECT canary FROM t"))).not.toContain("canary");
});

test("whatever was thrown is described, and nothing of it is repeated", () => {
  const hostile = new Proxy(new Error("x"), {
    get: () => {
      throw new Error("canary");
    },
  });
  const named = Object.assign(new Error("x"), { name: "canary 4111", code: "canary 4111" });
  for (const thrown of [
    hostile,
    named,
    null,
    undefined,
    Symbol("canary"),
    { canary: 1 },
    new Error("x", { cause: "canary" }),
  ]) {
    expect(errorSummary(thrown)).not.toContain("canary");
  }
  expect(errorSummary(hostile)).toBe("an error that cannot be described");
});
