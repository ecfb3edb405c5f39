import { CounterfoilError } from "./errors.ts";
import { Misuse } from "./misuse.ts";

/** The folder of this package's own code, whose frames say nothing about where a mistake is. */
const ownFolder = new URL("..", import.meta.url).pathname;

/** What SQLite says of a schema: names of the user's own tables and columns, never values. */
const schemaWord =
  /^(?:no such (?:table|column|function): |table \S+ has no column |(?:UNIQUE|NOT NULL|FOREIGN KEY) constraint failed|incomplete input)/;

/**
 * Describes an error for logs and reasons without a message that may quote payload: its class, its code,
 * what can be said of it safely, and where in the user's code it was thrown.
 *
 * @example
 * ```ts
 * errorSummary("boom"); // "a thrown string"
 * ```
 */
export function errorSummary(error: unknown): string {
  if (!(error instanceof Error)) return `a thrown ${error === null ? "null" : typeof error}`;
  const code = "code" in error && typeof error.code === "string" ? ` ${error.code}` : "";
  const text = safeText(error);
  const place = placeOf(error);
  return `${error.name}${code}${text ? ` (${text})` : ""}${place ? ` at ${place}` : ""}`;
}

function safeText(error: Error): string | undefined {
  if (error instanceof Misuse || error instanceof CounterfoilError) return error.message;
  const isSchema = "code" in error && error.code === "ERR_SQLITE_ERROR" && schemaWord.test(error.message);
  return isSchema ? error.message.slice(0, 200) : undefined;
}

function placeOf({ stack = "" }: Error): string | undefined {
  const frames = stack.split("\n").filter((line) => line.trimStart().startsWith("at ") && !line.includes("node:"));
  const frame = frames.find((line) => !line.includes(ownFolder)) ?? frames[0];
  return frame && /([^/\\(\s]+:\d+):\d+\)?$/.exec(frame)?.[1];
}
