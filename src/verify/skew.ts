import type { Timestamp } from "./read-timestamp.ts";
import type { TimestampRule } from "./scheme.ts";
import { type Miss, miss, type RefusalCause } from "./verdict.ts";

/** Judges a signed time against the arrival, on both sides; `undefined` where it is near enough. */
export function skewProblem(
  rule: TimestampRule,
  timestamp: Timestamp | RefusalCause,
  arrivedAtMs: number,
): Miss | undefined {
  if (typeof timestamp === "string") return miss(timestamp);
  const skewMs = arrivedAtMs - timestamp.ms;
  if (skewMs > rule.pastMs) return miss("timestamp_too_old", { skewMs, allowedMs: rule.pastMs });
  if (-skewMs > rule.futureMs) return miss("timestamp_in_future", { skewMs, allowedMs: rule.futureMs });
  return undefined;
}
