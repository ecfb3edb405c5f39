import { DatabaseError } from "pg";
import { expect, test } from "vitest";
import { isLoss, storeCode, storeError } from "./errors.ts";

// Codes of https://www.postgresql.org/docs/current/errcodes-appendix.html.
test.each([
  ["40P01", "statement", "RACE_LOST"],
  ["40001", "user statement", "RACE_LOST"],
  ["40001", "commit", "RACE_LOST"],
  ["55P03", "user statement", "STORE_BUSY"],
  ["53100", "statement", "STORE_FULL"],
  ["53100", "commit", "STORE_FULL"],
  ["53300", "begin", "STORE_UNAVAILABLE"],
  ["57P03", "begin", "STORE_UNAVAILABLE"],
  ["58030", "statement", "STORE_UNAVAILABLE"],
  ["08006", "statement", "STORE_UNAVAILABLE"],
  ["25006", "begin", "STORE_UNAVAILABLE"],
  ["25006", "statement", "TRANSACTION_BROKEN"],
  ["25006", "user statement", undefined],
  ["0A000", "begin", "STORE_UNAVAILABLE"],
  ["28P01", "begin", "STORE_UNAVAILABLE"],
  ["3D000", "begin", "STORE_UNAVAILABLE"],
  ["25P02", "user statement", "TRANSACTION_POISONED"],
  ["XX001", "statement", "STORE_CORRUPT"],
  ["XX002", "statement", "STORE_CORRUPT"],
  ["57014", "statement", "STORE_UNAVAILABLE"],
  ["57014", "user statement", undefined],
  ["57014", "commit", "COMMIT_REFUSED"],
  ["23505", "commit", "COMMIT_REFUSED"],
  ["P0001", "commit", "COMMIT_REFUSED"],
  ["23505", "user statement", undefined],
  ["42601", "user statement", undefined],
  ["42P01", "statement", undefined],
] as const)("PostgreSQL's %s in a %s is %s", (state, doing, code) => {
  expect(storeCode(state, doing)).toBe(code);
});

function told(code: string, severity: string): DatabaseError {
  const error = new DatabaseError('duplicate key: "secret"', 0, "error");
  return Object.assign(error, { code, severity });
}

test.each([
  ["a server's last word", told("57P01", "FATAL")],
  ["a reset", Object.assign(new Error("read ECONNRESET"), { syscall: "read", code: "ECONNRESET" })],
  [
    "every address refused",
    new AggregateError([Object.assign(new Error("refused"), { syscall: "connect" })], "refused"),
  ],
  ["the driver's word", new Error("Connection terminated unexpectedly")],
])("by %s the connection is gone, and with it the answer to COMMIT", (_, error) => {
  expect(isLoss(error)).toBe(true);
  expect(storeError(error, "statement")).toMatchObject({ code: "STORE_UNAVAILABLE", cause: error });
  expect(storeError(error, "commit")).toMatchObject({ code: "COMMIT_UNKNOWN", cause: error });
});

test("an error of somebody else's comes out as it is", () => {
  for (const error of [new TypeError("mine"), "text", told("23505", "ERROR")]) {
    expect(storeError(error, "user statement")).toBe(error);
  }
});

test("a message says what was under way and what to do, and repeats nothing of the server's words", () => {
  const error = storeError(told("53100", "ERROR"), "statement");
  expect(String(error)).toMatch(/Cannot run a statement: PostgreSQL says 53100; free disk space/);
  expect(String(error)).not.toContain("secret");
});
