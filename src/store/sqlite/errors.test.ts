import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { storeCode, storeError } from "./errors.ts";

// Numbers of https://sqlite.org/rescode.html; the low byte is the primary code.
test.each([
  [5, "statement", "STORE_BUSY"],
  [261, "open", "STORE_BUSY"],
  [517, "begin", "STORE_BUSY"],
  [15, "begin", "STORE_BUSY"],
  [13, "statement", "STORE_FULL"],
  [13, "commit", "STORE_FULL"],
  [10, "statement", "STORE_UNAVAILABLE"],
  [778, "statement", "STORE_UNAVAILABLE"],
  [778, "commit", "COMMIT_UNKNOWN"],
  [1034, "commit", "COMMIT_UNKNOWN"],
  [8, "statement", "STORE_UNAVAILABLE"],
  [1032, "begin", "STORE_UNAVAILABLE"],
  [14, "open", "STORE_UNAVAILABLE"],
  [11, "statement", "STORE_CORRUPT"],
  [779, "statement", "STORE_CORRUPT"],
  [26, "open", "STORE_CORRUPT"],
  [787, "commit", "COMMIT_REFUSED"],
  [19, "commit", "COMMIT_REFUSED"],
  [23, "statement", "TRANSACTION_CONTROL"],
  [787, "statement", undefined],
  [2067, "statement", undefined],
  [1, "statement", undefined],
] as const)("SQLite's %d in a %s is %s", (errcode, doing, code) => {
  expect(storeCode(errcode, doing)).toBe(code);
});

test("an error that is not SQLite's comes out as it is", () => {
  const error = new TypeError("mine");
  expect(storeError(error, "commit")).toBe(error);
  expect(storeError("text", "commit")).toBe("text");
});

test("a message says what was under way and what to do, and the cause is kept", () => {
  const database = new DatabaseSync(":memory:");
  database.exec("PRAGMA max_page_count = 1");
  const error = storeError(
    caught(() => database.exec("CREATE TABLE secret_name (a)")),
    "statement",
  );
  expect(error).toMatchObject({ code: "STORE_FULL", cause: { errcode: 13 } });
  expect(String(error)).toMatch(/Cannot run a statement: .*13.*; free disk space/);
  expect(String(error)).not.toContain("secret_name");
});

function caught(run: () => void): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}
