/**
 * The clocks a process reads, injected so that tests can move them.
 *
 * `wallMs` may step in either direction; `monotonicMs` never does, but is only comparable within one
 * `bootId`. Leases on an embedded database compare monotonic readings of processes on one machine, so
 * a reading must come from a clock that those processes share (CLOCK_MONOTONIC on Linux and macOS).
 */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  wallMs(): number;
  /** Milliseconds since an arbitrary point of this boot; only grows. */
  monotonicMs(): number;
  /** Names the boot of the machine that `monotonicMs` belongs to. */
  readonly bootId: string;
  /** Calls `fire` once after `delayMs`; the returned function cancels. Timers never keep a process alive by themselves. */
  timer(delayMs: number, fire: () => void): () => void;
}
