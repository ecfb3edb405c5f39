import { CommanderError } from "commander";
import { type ErrorCode, errorCodes, storeTroubles } from "../domain/errors.ts";

/** What the command line ends with. `docs/cli.md` shows the same table. */
export const exitCodes = {
  ok: { code: 0, meaning: "Done, or nothing to do" },
  refused: {
    code: 1,
    meaning: "Refused: not found, not allowed, changed since you looked, bytes expired, or not accepted",
  },
  usage: { code: 2, meaning: "The command or the configuration cannot work as written" },
  store: { code: 3, meaning: "The database is busy, full, unreachable, damaged or of another version" },
  failure: { code: 4, meaning: "Something else failed" },
} as const;

const refusals: readonly ErrorCode[] = ["NOT_FOUND", "NOT_ALLOWED", "CHANGED", "BYTES_EXPIRED"];
const stores: readonly ErrorCode[] = [
  ...storeTroubles,
  "STORE_UNSUPPORTED",
  "SCHEMA_OUTDATED",
  "SCHEMA_NEWER",
  "COMMIT_REFUSED",
];

/** The exit code of an error that ended a command. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok.code : exitCodes.usage.code;
  const code = errorCodeOf(error);
  if (code === undefined) return isMisuse(error) ? exitCodes.usage.code : exitCodes.failure.code;
  if (refusals.includes(code)) return exitCodes.refused.code;
  if (stores.includes(code)) return exitCodes.store.code;
  return code === "CONFIG_INVALID" || code === "UNKNOWN_CONNECTION" ? exitCodes.usage.code : exitCodes.failure.code;
}

/**
 * One of our codes, or `undefined`. Told by the code, not the class: a configuration may load another
 * copy of the package than this command line.
 */
export function errorCodeOf(error: unknown): ErrorCode | undefined {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" && Object.hasOwn(errorCodes, code) ? (code as ErrorCode) : undefined;
}

/** Errors that the library throws for wrong arguments; their messages are meant for the caller. */
export function isMisuse(error: unknown): error is Error {
  return (error instanceof TypeError || error instanceof RangeError) && error.message.startsWith("Cannot ");
}
