import { setImmediate } from "node:timers/promises";
import type { Store } from "counterfoil";
import { wrappedStore } from "../support/wrapped-store.ts";

/** Turns of the event loop without a sign of life after which nothing goes on by itself. */
const quietTurns = 4;

/** Tells when the processes have done all they can do without time passing or a call ending. */
export class Activity {
  #signs = 0;
  #transactions = 0;

  /** Grows with whatever happens. */
  get signs(): number {
    return this.#signs;
  }

  /** Something happened. */
  note(): void {
    this.#signs += 1;
  }

  /** The same store, with its transactions counted. */
  watch(store: Store): Store {
    return wrappedStore(store, async (body, options) => {
      this.#transactions += 1;
      try {
        return await store.transaction(body, options);
      } finally {
        this.#transactions -= 1;
        this.note();
      }
    });
  }

  async quiet(): Promise<void> {
    for (let turns = 0; turns < quietTurns;) {
      const before = this.#signs;
      await setImmediate();
      turns = this.#signs === before && this.#transactions === 0 ? turns + 1 : 0;
    }
  }
}

/** Lets sockets do what they are about to do. */
export async function until(condition: () => boolean, what: string): Promise<void> {
  const endMs = performance.now() + 30_000;
  while (!condition()) {
    if (performance.now() > endMs) throw new Error(`Cannot go on: it did not come true that ${what}`);
    await setImmediate();
  }
}
