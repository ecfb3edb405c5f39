import { expect, test } from "vitest";
import { parseControl } from "./parse-control.ts";

test.each([
  ["BEGIN", { kind: "begin", name: null }],
  ["begin deferred transaction;", { kind: "begin", name: null }],
  ["  /* a */ -- b\n BEGIN IMMEDIATE ;; ", { kind: "begin", name: null }],
  ["\uFEFF;COMMIT", { kind: "release", name: null }],
  ["end transaction", { kind: "release", name: null }],
  ["ROLLBACK TRANSACTION", { kind: "rollback", name: null }],
  ["savepoint sp1", { kind: "savepoint", name: "sp1" }],
  ['SAVEPOINT "My Point"', { kind: "savepoint", name: "my point" }],
  ["release savepoint `sp1`", { kind: "release", name: "sp1" }],
  ["RELEASE [sp1]", { kind: "release", name: "sp1" }],
  ["rollback to sp1", { kind: "rollback-to", name: "sp1" }],
  ["ROLLBACK TRANSACTION TO SAVEPOINT 'sp1'", { kind: "rollback-to", name: "sp1" }],
])("%j is control", (text, control) => {
  expect(parseControl(text)).toEqual(control);
});

test.each([
  "SELECT 1",
  "",
  "-- COMMIT",
  "/* BEGIN",
  "BEGIN; SELECT 1",
  "COMMIT; COMMIT",
  "INSERT INTO t VALUES ('COMMIT')",
  "BEGINNING",
  "EXPLAIN COMMIT",
])("%j is left to the statement guard", (text) => {
  expect(parseControl(text)).toBeUndefined();
});
