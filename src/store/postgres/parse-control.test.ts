import { expect, test } from "vitest";
import { controls, parseControl } from "./parse-control.ts";

test.each([
  ["BEGIN", { kind: "begin", name: null }],
  ["begin work;", { kind: "begin", name: null }],
  ["start transaction", { kind: "begin", name: null }],
  ["START TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE", { kind: "begin", name: null }],
  ["  /* a /* nested */ */ -- b\n BEGIN ;; ", { kind: "begin", name: null }],
  ["\uFEFF;COMMIT", { kind: "release", name: null }],
  ["commit/* now */work", { kind: "release", name: null }],
  ["END TRANSACTION AND NO CHAIN", { kind: "release", name: null }],
  ["abort", { kind: "rollback", name: null }],
  ["ROLLBACK WORK", { kind: "rollback", name: null }],
  ["savepoint Sp1", { kind: "savepoint", name: "sp1" }],
  ['SAVEPOINT "My ""Point"""', { kind: "savepoint", name: 'My "Point"' }],
  ["release savepoint sp1", { kind: "release", name: "sp1" }],
  ["rollback to sp1", { kind: "rollback-to", name: "sp1" }],
  ['ROLLBACK TRANSACTION TO SAVEPOINT "sp1"', { kind: "rollback-to", name: "sp1" }],
])("%j is control that a savepoint can stand for", (text, control) => {
  expect(parseControl(text)).toEqual(control);
  expect(controls(text)).toBe(true);
});

test.each([
  "BEGIN ISOLATION LEVEL SERIALIZABLE",
  "start transaction read only",
  "COMMIT AND CHAIN",
  "PREPARE TRANSACTION 'x'",
  "commit prepared 'x'",
  "ROLLBACK PREPARED 'x'",
  "BEGIN; SELECT 1",
  ";;/* c */ -- d\nCOMMIT; COMMIT",
  "SET TRANSACTION READ ONLY",
  "set search_path = other",
  "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
  "prepare mine as select 1",
  "LISTEN news",
  "DISCARD ALL",
  "COPY notes FROM STDIN",
  "RESET ALL",
  "LOAD 'auto_explain'",
  "SET LOCAL transaction_read_only = on",
  "SET LOCAL TRANSACTION READ ONLY",
  "SELECT pg_advisory_lock(1)",
  "SELECT 1 WHERE pg_try_advisory_lock_shared (1, 2)",
  "SELECT pg_advisory_unlock_all()",
  "DECLARE mine CURSOR WITH HOLD FOR SELECT 1",
])("%j is control that is refused", (text) => {
  expect(parseControl(text)).toBeUndefined();
  expect(controls(text)).toBe(true);
});

test.each([
  "SELECT 1",
  "",
  "-- COMMIT",
  "/* BEGIN",
  "/* /* COMMIT */ ROLLBACK */ SELECT 1",
  "INSERT INTO t VALUES ('COMMIT')",
  "BEGINNING",
  "EXPLAIN COMMIT",
  "SET LOCAL statement_timeout = '1s'",
  "set constraints all immediate",
  "SETTLE",
  "SELECT pg_advisory_xact_lock(1)",
  "SELECT pg_try_advisory_xact_lock_shared(1)",
])("%j is the user's own", (text) => {
  expect(parseControl(text)).toBeUndefined();
  expect(controls(text)).toBe(false);
});
