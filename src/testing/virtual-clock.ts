import type { Clock } from "../domain/clock.ts";

/** Where a {@link VirtualClock} starts. */
export interface VirtualClockOptions {
  /** Milliseconds since the Unix epoch. Default 2026-01-01T00:00:00Z. */
  readonly wallMs?: number;
  /** Milliseconds since the boot. Default 0. */
  readonly monotonicMs?: number;
  /** Default `"boot-1"`. */
  readonly bootId?: string;
}

interface Timer {
  readonly dueMs: number;
  readonly fire: () => void;
}

/**
 * A clock that stands still until a test moves it. Timers fire inside {@link VirtualClock.advance}, in
 * the order of their due times (equal ones in the order in which they were set), each at its own
 * instant, so that the same calls always give the same run.
 *
 * @example
 * ```ts
 * const clock = new VirtualClock();
 * const renewed: number[] = [];
 * clock.timer(1_000, () => void renewed.push(clock.monotonicMs()));
 * clock.advance(5_000);
 * renewed; // [1000]
 * ```
 */
export class VirtualClock implements Clock {
  #wallMs: number;
  #monotonicMs: number;
  #bootId: string;
  readonly #timers: Set<Timer> = new Set();

  constructor({ wallMs = Date.UTC(2026, 0, 1), monotonicMs = 0, bootId = "boot-1" }: VirtualClockOptions = {}) {
    this.#wallMs = wallMs;
    this.#monotonicMs = monotonicMs;
    this.#bootId = bootId;
  }

  wallMs(): number {
    return this.#wallMs;
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  get bootId(): string {
    return this.#bootId;
  }

  /** Timers that were set and have neither fired nor been cancelled. */
  get pendingTimers(): number {
    return this.#timers.size;
  }

  /** As on Node's own timers, a delay under 1 ms counts as 1 ms: a timer that sets itself again cannot stop the clock. */
  timer(delayMs: number, fire: () => void): () => void {
    if (Number.isNaN(delayMs)) throw new RangeError("Cannot set a timer: its delay is not a number; give milliseconds");
    const timer: Timer = { dueMs: this.#monotonicMs + Math.max(1, delayMs), fire };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /**
   * Lets `ms` pass on both clocks. Timers due on the way fire, also those that were set on the way.
   * What they throw comes out here; the clock then stands at the instant of the throw.
   *
   * @throws RangeError when `ms` is negative or not a number: monotonic time only grows.
   */
  advance(ms: number): void {
    if (!(ms >= 0)) throw new RangeError(`Cannot advance the clock by ${ms} ms: give zero or more`);
    const endMs = this.#monotonicMs + ms;
    for (let next = this.#earliest(); next && next.dueMs <= endMs; next = this.#earliest()) {
      this.#timers.delete(next);
      this.#moveTo(next.dueMs);
      next.fire();
    }
    this.#moveTo(endMs);
  }

  /**
   * Moves the wall clock alone, forwards or backwards, as an administrator, NTP or a suspended machine
   * does. No timer fires: timers follow monotonic time.
   */
  stepWall(ms: number): void {
    this.#wallMs += ms;
  }

  /**
   * Another boot: monotonic time starts at 0 again and the timers of the process that died are gone.
   * The wall clock goes on where it was; use {@link VirtualClock.stepWall} for the time it took.
   */
  reboot(bootId: string): void {
    this.#bootId = bootId;
    this.#monotonicMs = 0;
    this.#timers.clear();
  }

  #moveTo(monotonicMs: number): void {
    // A timer may have advanced or rebooted the clock itself; time already passed is not passed twice.
    const passedMs = Math.max(0, monotonicMs - this.#monotonicMs);
    this.#wallMs += passedMs;
    this.#monotonicMs += passedMs;
  }

  /** A scan: tests hold a handful of timers, and the Set keeps equal due times in the order they were set. */
  #earliest(): Timer | undefined {
    let earliest: Timer | undefined;
    for (const timer of this.#timers) if (!earliest || timer.dueMs < earliest.dueMs) earliest = timer;
    return earliest;
  }
}
