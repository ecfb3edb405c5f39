import type { RefusalFacts } from "../store/store.ts";
import type { Runtime } from "../work/runtime.ts";
import { transact } from "../work/transact.ts";

/** Facts that wait for the next write; more are only counted by telemetry. */
const waitingMax = 100;
const flushMs = 1_000;

/**
 * Keeps safe facts of refused deliveries for the operator. Anyone can cause refusals, so they are
 * written at most once a second and in a bounded number; the store keeps the latest only.
 */
export class RefusalRing {
  readonly #runtime: Runtime;
  readonly #ready: () => Promise<void>;
  #waiting: RefusalFacts[] = [];
  #scheduled = false;

  /** `ready` resolves once the store is open: refusals may be all that a receiver ever sees. */
  constructor(runtime: Runtime, ready: () => Promise<void>) {
    this.#runtime = runtime;
    this.#ready = ready;
  }

  add(facts: RefusalFacts): void {
    if (this.#waiting.length >= waitingMax) return;
    this.#waiting.push(facts);
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#runtime.clock.timer(flushMs, () => void this.flush());
  }

  /** Writes what waits. A store in trouble loses them: they are hints, and deliveries come first. */
  async flush(): Promise<void> {
    this.#scheduled = false;
    const facts = this.#waiting;
    this.#waiting = [];
    if (facts.length === 0) return;
    await this.#ready()
      .then(() => transact(this.#runtime, (tx) => tx.recordRefusals(facts)))
      .catch(() => undefined);
  }
}
