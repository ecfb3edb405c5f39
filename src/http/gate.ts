import { CounterfoilError } from "../domain/errors.ts";

/** Counts the deliveries under way, and lets no more in once it is closed. */
export class Gate {
  #inside = 0;
  #isClosed = false;
  #waiting: (() => void)[] = [];

  /** Runs a delivery inside; rejects with STORE_UNAVAILABLE where the gate is closed. */
  async run<T>(body: () => Promise<T>): Promise<T> {
    if (this.#isClosed) {
      throw new CounterfoilError(
        "STORE_UNAVAILABLE",
        "Cannot take the delivery: the application is stopping; send it again later",
      );
    }
    this.#inside += 1;
    try {
      return await body();
    } finally {
      this.#inside -= 1;
      this.#tellEmpty();
    }
  }

  /** Lets nobody in any more; resolves when the last one is out. */
  close(): Promise<void> {
    this.#isClosed = true;
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#tellEmpty();
    });
  }

  open(): void {
    this.#isClosed = false;
  }

  #tellEmpty(): void {
    if (this.#inside > 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}
