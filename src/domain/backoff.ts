import type { Random } from "./random.ts";

/** The bounds of a delay that grows with every failure. */
export interface BackoffLimits {
  /** No delay is shorter. */
  readonly firstMs: number;
  /** No delay is longer. */
  readonly maxMs: number;
}

/**
 * The delay before the next try: full jitter over `firstMs` to `firstMs * 2^failures`, cut at `maxMs`.
 *
 * What fails in one instant must not come due in one instant. The whole range is random rather than a
 * little at its end, since that is what drains a backlog soonest; the floor keeps a lucky zero from
 * becoming a hot loop.
 *
 * @throws RangeError when `failures` is not a whole number above zero, or the bounds are not 0 < firstMs <= maxMs.
 * @example
 * ```ts
 * backoffMs(3, { firstMs: 1_000, maxMs: 3_600_000, random: () => 0.5 }); // 4500
 * ```
 */
export function backoffMs(failures: number, options: BackoffLimits & { readonly random: Random }): number {
  const { firstMs, maxMs, random } = options;
  if (!Number.isSafeInteger(failures) || failures < 1) {
    throw new RangeError(`Cannot compute a backoff: failures is ${failures}, give a whole number above zero`);
  }
  if (!(firstMs > 0 && firstMs <= maxMs)) {
    throw new RangeError(`Cannot compute a backoff: from ${firstMs} to ${maxMs} ms is no range above zero`);
  }
  const ceilingMs = Math.min(maxMs, firstMs * 2 ** failures);
  return firstMs + Math.floor(random() * (ceilingMs - firstMs));
}

/** Settings of {@link nextDueMs}. */
export interface NextDueOptions {
  readonly failures: number;
  readonly backoff: BackoffLimits;
  readonly random: Random;
  /** What the provider asked for; `undefined` when it asked for nothing. */
  readonly retryAfterMs?: number | undefined;
  /** The longest that a provider's wish is followed. */
  readonly retryAfterMaxMs: number;
}

/**
 * The instant at which a failed thing is due again: after the backoff, or later if the provider asked
 * for more, within a bound. A wish for less than the backoff changes nothing.
 *
 * @throws RangeError as {@link backoffMs}.
 * @example
 * ```ts
 * const backoff = { firstMs: 1_000, maxMs: 3_600_000 };
 * nextDueMs(0, { failures: 1, backoff, random: () => 0, retryAfterMs: 90_000, retryAfterMaxMs: 60_000 }); // 60000
 * ```
 */
export function nextDueMs(nowMs: number, options: NextDueOptions): number {
  const { failures, backoff, random, retryAfterMs = 0, retryAfterMaxMs } = options;
  return nowMs + Math.max(backoffMs(failures, { ...backoff, random }), Math.min(retryAfterMs, retryAfterMaxMs));
}
