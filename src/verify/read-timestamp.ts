import type { DeliveryHeaders } from "./delivery-headers.ts";
import type { TimestampRule } from "./scheme.ts";
import type { RefusalCause } from "./verdict.ts";

/** The timestamp as it was sent, which is what gets signed, and what it means. */
export interface Timestamp {
  readonly text: string;
  readonly ms: number;
}

/** Thirteen digits of seconds or sixteen of milliseconds would be past any date; more is junk. */
const digits = /^\d{1,16}$/;
const rfc3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/;

/**
 * Reads the timestamp strictly: `parseInt` would take "123=junk" for 123, and `Number` takes "" for 0
 * and "1e9" for a date.
 */
export function readTimestamp(
  rule: TimestampRule,
  headers: DeliveryHeaders,
  pairs: readonly string[],
): Timestamp | RefusalCause {
  if ("header" in rule.from) {
    const value = headers.get(rule.from.header);
    if (value === undefined) return "missing_signed_header";
    if (headers.count(rule.from.header) > 1 || value.includes(",")) return "ambiguous_header";
    return parse(rule, value);
  }
  const [text, ...others] = pairs;
  if (!("pair" in rule.from)) return "timestamp_malformed";
  return text === undefined || others.length > 0 ? "timestamp_malformed" : parse(rule, text);
}

/** Reads a timestamp that stands in JSON, as text or as a number. */
export function timestampOf(rule: TimestampRule, value: unknown): Timestamp | RefusalCause {
  return typeof value === "string" || typeof value === "number" ? parse(rule, String(value)) : "timestamp_malformed";
}

function parse(rule: TimestampRule, text: string): Timestamp | RefusalCause {
  const ms = rule.unit === "rfc3339" ? dateMs(text) : numberMs(text, rule.unit);
  return Number.isFinite(ms) ? { text, ms } : "timestamp_malformed";
}

function dateMs(text: string): number {
  return rfc3339.test(text) ? Date.parse(text) : Number.NaN;
}

function numberMs(text: string, unit: "s" | "ms"): number {
  if (!digits.test(text)) return Number.NaN;
  return Number(text) * (unit === "s" ? 1_000 : 1);
}

/** Writes a time the way `readTimestamp` reads it. */
export function timestampText(rule: TimestampRule, ms: number): string {
  if (rule.unit === "rfc3339") return new Date(ms).toISOString();
  return String(rule.unit === "s" ? Math.floor(ms / 1_000) : Math.floor(ms));
}
