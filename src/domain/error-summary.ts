import { CounterfoilError } from "./errors.ts";
import { Misuse } from "./misuse.ts";

/** The folder of this package's own code, whose frames say nothing about where a mistake is. */
const ownFolder = new URL("..", import.meta.url).pathname;

/** What databases say of a schema: names of the user's own tables, columns and constraints, never values. */
const schemaWords: readonly RegExp[] = [
  // SQLite's.
  /^(?:no such table: \w+|table \w+ has no column named \w+)$/,
  /^(?:(?:UNIQUE|NOT NULL) constraint failed: [\w., ]+|FOREIGN KEY constraint failed)$/,
  // PostgreSQL's, where it speaks English. A column by itself may be a value that was quoted as a name.
  /^relation "[\w.]+" does not exist$/,
  /^column "\w+" of relation "\w+" does not exist$/,
  /^duplicate key value violates unique constraint "\w+"$/,
  /^(?:insert or update|update or delete) on table "\w+" violates foreign key constraint "\w+"(?: on table "\w+")?$/,
  /^null value in column "\w+" of relation "\w+" violates not-null constraint$/,
  /^new row for relation "\w+" violates check constraint "\w+"$/,
];

const nameWord = /^[A-Za-z]\w{0,63}$/;
const sqlState = /^[\dA-Z]{5}$/;

/**
 * Describes an error for logs and reasons without a message that may quote payload: its class, its code,
 * what can be said of it safely, and where in the user's code it was thrown. Never throws, whatever it
 * is given.
 *
 * @example
 * ```ts
 * errorSummary("boom"); // "a thrown string"
 * ```
 */
export function errorSummary(error: unknown): string {
  try {
    return error instanceof Error ? described(error) : `a thrown ${error === null ? "null" : typeof error}`;
  } catch {
    return "an error that cannot be described";
  }
}

function described(error: Error): string {
  const name = nameWord.test(error.name) ? error.name : "Error";
  const given = "code" in error && typeof error.code === "string" ? error.code : "";
  const code = nameWord.test(given) || sqlState.test(given) ? ` ${given}` : "";
  const text = safeText(error);
  const place = placeOf(error);
  return `${name}${code}${text ? ` (${text})` : ""}${place ? ` at ${place}` : ""}`;
}

function safeText(error: Error): string | undefined {
  if (error instanceof Misuse || error instanceof CounterfoilError) return error.message;
  const code = "code" in error ? String(error.code) : "";
  const isDatabase = code === "ERR_SQLITE_ERROR" || sqlState.test(code);
  return isDatabase && schemaWords.some((word) => word.test(error.message)) ? error.message : undefined;
}

function placeOf({ stack }: Error): string | undefined {
  const frames = String(stack)
    .split("\n")
    .filter((line) => line.trimStart().startsWith("at ") && !/node:|<anonymous>/.test(line));
  const frame = frames.find((line) => !line.includes(ownFolder) && !line.includes("node_modules")) ?? frames[0];
  return frame && /([^/\\(\s]+:\d+):\d+\)?$/.exec(frame)?.[1];
}
