/** A length of time with its unit, such as `"24h"` or `"250ms"`. */
export type Duration = `${number}${"ms" | "s" | "m" | "h" | "d"}`;

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * Parses a duration to whole milliseconds.
 *
 * @throws RangeError when the text is no duration, negative, or beyond 2^53 milliseconds.
 * @example
 * ```ts
 * durationMs("24h"); // 86400000
 * ```
 */
export function durationMs(text: Duration): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text);
  const ms = match ? Number(match[1]) * (unitMs[match[2] ?? ""] ?? Number.NaN) : Number.NaN;
  if (!Number.isSafeInteger(Math.round(ms))) {
    throw new RangeError(`Cannot read duration "${text}": write a number and a unit, such as "30s" or "24h"`);
  }
  return Math.round(ms);
}
