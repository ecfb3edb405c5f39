/**
 * Describes an error for logs and reasons without its message, which may quote payload: its class, its
 * code, and where it was thrown.
 *
 * @example
 * ```ts
 * errorSummary("boom"); // "a thrown string"
 * ```
 */
export function errorSummary(error: unknown): string {
  if (!(error instanceof Error)) return `a thrown ${error === null ? "null" : typeof error}`;
  const code = "code" in error && typeof error.code === "string" ? ` ${error.code}` : "";
  const where = error.stack?.split("\n").find((line) => line.trimStart().startsWith("at "));
  const place = where && /([^/\\(\s]+:\d+):\d+\)?$/.exec(where)?.[1];
  return `${error.name}${code}${place ? ` at ${place}` : ""}`;
}
