import { setImmediate } from "node:timers/promises";
import type { Store } from "counterfoil";
import { observed, replacing } from "../support/wrapped-store.ts";

/** Turns of the event loop without a sign of life after which nothing goes on by itself. */
const quietTurns = 4;

/** Tells when the processes have done all they can do without time passing or a call ending. */
export class Activity {
  #signs = 0;
  #running = 0;

  /** Grows with whatever happens. */
  get signs(): number {
    return this.#signs;
  }

  /** Something happened. */
  note(): void {
    this.#signs += 1;
  }

  /** The same store, with its transactions and reads counted. */
  watch(store: Store): Store {
    return replacing(store, {
      // News from the server would wake a process that is asleep; without, work is found by looking for it.
      listen: () => () => undefined,
      reader: observed(store.reader, (read) => this.#counted(read)),
      transaction: (body, options) => this.#counted(() => store.transaction(body, options)),
    });
  }

  async #counted<T>(run: () => Promise<T>): Promise<T> {
    this.#running += 1;
    try {
      return await run();
    } finally {
      this.#running -= 1;
      this.note();
    }
  }

  async quiet(): Promise<void> {
    for (let turns = 0; turns < quietTurns;) {
      const before = this.#signs;
      await setImmediate();
      turns = this.#signs === before && this.#running === 0 ? turns + 1 : 0;
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
