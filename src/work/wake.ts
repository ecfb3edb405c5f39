/**
 * Wakes the loops of this process when a commit gave them work. A hint only: polling finds the same
 * work later, also what other processes committed.
 */
export class Wake {
  readonly #listeners = { owed: new Set<() => void>(), arrived: new Set<() => void>() };

  on(topic: keyof Signals, listener: () => void): () => void {
    this.#listeners[topic].add(listener);
    return () => this.#listeners[topic].delete(listener);
  }

  /** Tells what a transaction did; call it after its commit, never before. */
  committed(signals: Signals): void {
    if (signals.owed) for (const listener of this.#listeners.owed) listener();
    if (signals.arrived) for (const listener of this.#listeners.arrived) listener();
  }
}

/** What a transaction did that others wait for; filled while it runs. */
export interface Signals {
  owed: boolean;
  arrived: boolean;
}

export function noSignals(): Signals {
  return { owed: false, arrived: false };
}
