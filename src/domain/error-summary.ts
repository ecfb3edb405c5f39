import { CounterfoilError } from "./errors.ts";
import { Misuse } from "./misuse.ts";

/** The folder of this package's own code, whose frames say nothing about where a mistake is. */
const ownFolder = new URL("..", import.meta.url).pathname;

/** What SQLite says of a schema: names of the user's own tables and columns, never values. */
const schemaWord =
  /^(?:no such table: \w+|table \w+ has no column named \w+|(?:UNIQUE|NOT NULL) constraint failed: [\w., ]+|FOREIGN KEY constraint failed)$/;

const nameWord = /^[A-Za-z]\w{0,63}$/;

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
  const code = "code" in error && typeof error.code === "string" && nameWord.test(error.code) ? ` ${error.code}` : "";
  const text = safeText(error);
  const place = placeOf(error);
  return `${name}${code}${text ? ` (${text})` : ""}${place ? ` at ${place}` : ""}`;
}

function safeText(error: Error): string | undefined {
  if (error instanceof Misuse || error instanceof CounterfoilError) return error.message;
  const isSchema = "code" in error && error.code === "ERR_SQLITE_ERROR" && schemaWord.test(error.message);
  return isSchema ? error.message : undefined;
}

function placeOf({ stack }: Error): string | undefined {
  const frames = String(stack)
    .split("\n")
    .filter((line) => line.trimStart().startsWith("at ") && !/node:|<anonymous>/.test(line));
  const frame = frames.find((line) => !line.includes(ownFolder) && !line.includes("node_modules")) ?? frames[0];
  return frame && /([^/\\(\s]+:\d+):\d+\)?$/.exec(frame)?.[1];
}
