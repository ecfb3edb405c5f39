/** Milliseconds since the Unix epoch, by the store's clock. */
export type Instant = number;

/**
 * One reading of every clock that a store trusts, taken once per transaction.
 *
 * An embedded store reads the machine's wall and monotonic clocks; a database server gives its own
 * clock for both, under an empty boot id.
 */
export interface Stamp {
  readonly wallMs: Instant;
  readonly monotonicMs: number;
  readonly bootId: string;
}

/**
 * The time between two stamps in milliseconds: the larger of what the clocks say, so that a wall clock
 * stepped back cannot make a key look younger. Across boots only the wall clock can speak.
 */
export function elapsedMs(since: Stamp, now: Stamp): number {
  const wall = now.wallMs - since.wallMs;
  if (since.bootId !== now.bootId) return wall;
  return Math.max(wall, now.monotonicMs - since.monotonicMs);
}

/**
 * The time that has passed between two stamps at the least: the smaller of what the clocks say, so that
 * a wall clock stepped forward cannot cut a wait short. Across boots only the wall clock can speak.
 */
export function elapsedAtLeastMs(since: Stamp, now: Stamp): number {
  const wall = now.wallMs - since.wallMs;
  if (since.bootId !== now.bootId) return wall;
  return Math.min(wall, now.monotonicMs - since.monotonicMs);
}
