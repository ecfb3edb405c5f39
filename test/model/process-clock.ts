import type { Clock } from "../../src/domain/clock.ts";
import type { VirtualClock } from "../../src/testing/virtual-clock.ts";

interface Timer {
  readonly dueMs: number;
  readonly fire: () => void;
}

/**
 * The machine's clock as one process sees it: readings are the machine's, timers are the process's own and
 * fire only when it gets to run, however late, as those of a process that was stopped for a while.
 */
export class ProcessClock implements Clock {
  readonly #machine: VirtualClock;
  readonly #timers: Set<Timer> = new Set();
  #dead = false;

  constructor(machine: VirtualClock) {
    this.#machine = machine;
  }

  wallMs(): number {
    return this.#machine.wallMs();
  }

  monotonicMs(): number {
    return this.#machine.monotonicMs();
  }

  get bootId(): string {
    return this.#machine.bootId;
  }

  timer(delayMs: number, fire: () => void): () => void {
    const timer: Timer = { dueMs: this.#machine.monotonicMs() + Math.max(1, delayMs), fire };
    if (!this.#dead) this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /** Fires what is due, the earliest first; what that sets is for the next time. */
  fireDue(): void {
    const nowMs = this.#machine.monotonicMs();
    const due = [...this.#timers].filter(({ dueMs }) => dueMs <= nowMs).sort((left, right) => left.dueMs - right.dueMs);
    for (const timer of due) {
      // One that fires may cancel another.
      if (this.#timers.delete(timer)) timer.fire();
    }
  }

  /** The process is gone. */
  die(): void {
    this.#dead = true;
    this.#timers.clear();
  }
}
