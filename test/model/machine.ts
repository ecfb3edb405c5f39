import { VirtualClock } from "../../src/testing/virtual-clock.ts";

const wallOffMaxMs = 2 * 3_600_000;

/**
 * The machine's clocks, and the time that really passes, which providers go by.
 *
 * Either the wall clock may be set, or monotonic time may miss some: by a suspend, or by a reboot that
 * begins it anew. A run that did both would leave the machine without any clock that knows how old a key is.
 */
export class Machine {
  readonly clock: VirtualClock = new VirtualClock();
  #trueMs = 0;
  #boots = 1;
  #wallOffMs = 0;
  #wallWasSet = false;
  #monotonicMissed = false;

  /** Milliseconds since the start, by a clock that is always right. */
  trueMs(): number {
    return this.#trueMs;
  }

  /** Time goes on for everything, and nobody gets to run. */
  skip(ms: number): void {
    this.#trueMs += ms;
    this.clock.advance(ms);
  }

  /** Somebody sets the wall clock, but never far off. */
  stepWall(ms: number): void {
    if (this.#monotonicMissed || Math.abs(this.#wallOffMs + ms) > wallOffMaxMs) return;
    this.#wallOffMs += ms;
    this.#wallWasSet = true;
    this.clock.stepWall(ms);
  }

  /** Time goes on outside while the machine is suspended; afterwards its wall clock knows it. */
  suspend(ms: number): void {
    if (this.#wallWasSet) return;
    this.#monotonicMissed = true;
    this.#trueMs += ms;
    this.clock.stepWall(ms);
  }

  /** Another boot; gives whether it happened. */
  reboot(downMs: number): boolean {
    if (this.#wallWasSet) return false;
    this.#monotonicMissed = true;
    this.#boots += 1;
    this.clock.reboot(`boot-${this.#boots}`);
    this.skip(downMs);
    return true;
  }
}
