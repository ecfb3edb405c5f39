import { CommanderError } from "commander";
import { expect, test } from "vitest";
import { CounterfoilError, type ErrorCode, errorCodes } from "../domain/errors.ts";
import { exitCodeOf, exitCodes } from "./exit-codes.ts";

const ofCode = (code: ErrorCode): number => exitCodeOf(new CounterfoilError(code, "Cannot go on"));

test("an error's code decides, also one of another copy of the package", () => {
  for (const code of ["NOT_FOUND", "NOT_ALLOWED", "CHANGED", "BYTES_EXPIRED"] as const) expect(ofCode(code)).toBe(1);
  for (const code of ["STORE_BUSY", "STORE_CORRUPT", "SCHEMA_OUTDATED", "COMMIT_UNKNOWN"] as const) {
    expect(ofCode(code)).toBe(3);
  }
  expect(ofCode("CONFIG_INVALID")).toBe(2);
  expect(exitCodeOf(Object.assign(new Error("of another copy"), { code: "NOT_FOUND" }))).toBe(1);
});

test("every code of ours, and everything else, ends with a documented code", () => {
  const known = Object.values(exitCodes).map(({ code }) => code);
  for (const code of Object.keys(errorCodes) as ErrorCode[]) expect(known).toContain(ofCode(code));
  for (const thrown of [new Error("x"), "text", undefined]) expect(exitCodeOf(thrown)).toBe(4);
});

test("wrong arguments are told from defects by the message that we write", () => {
  expect(exitCodeOf(new TypeError("Cannot cancel: the reason is blank"))).toBe(2);
  expect(exitCodeOf(new TypeError("x is not a function"))).toBe(4);
  expect(exitCodeOf(new CommanderError(1, "commander.unknownCommand", "unknown"))).toBe(2);
  expect(exitCodeOf(new CommanderError(0, "commander.helpDisplayed", "help"))).toBe(0);
});
