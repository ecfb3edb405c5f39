/**
 * What users' statements leave on the connection: settings, temporary tables, cursors that outlive their
 * transaction. The next unit is somebody else's, in the same transaction or in the next one of the pool.
 *
 * What can be told from the text and has a better way is refused (parse-control.ts). What is of use inside a unit
 * is taken away at its end, so that a setting for row-level security does not reach the next event. Only a
 * statement that may leave something costs that. What a function of the user's own sets is not seen.
 */
import { beginSettings, type Bounds } from "./begin.ts";
import { firstWords } from "./parse-control.ts";

const leavesFirst = /^(?:SET|DO|CALL|DECLARE)\b/i;
const leavesInside =
  /\bset_config\b|\b(?:CREATE(?:\s+OR\s+REPLACE)?|INTO)\s+(?:(?:GLOBAL|LOCAL)\s+)?TEMP(?:ORARY)?\b|\bpg_temp\b/i;

/**
 * Whether a user's statement may leave something on the connection.
 *
 * @example
 * ```ts
 * mayLeave("SELECT set_config('app.tenant', $1, true)"); // true
 * mayLeave("UPDATE readings SET temp = $1"); // false
 * ```
 */
export function mayLeave(text: string): boolean {
  const words = firstWords(text);
  return leavesFirst.test(words) || leavesInside.test(words);
}

/** Takes away what was left, inside of a transaction: its own settings stand again; gives whether it became read-only, which nothing takes back. */
export function tidyText(bounds: Bounds): string {
  return `CLOSE ALL; DISCARD TEMP; RESET SESSION AUTHORIZATION; RESET ROLE; RESET ALL;
    SELECT ${beginSettings(bounds)}, current_setting('transaction_read_only') = 'on' AS is_frozen`;
}
