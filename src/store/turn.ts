import { CounterfoilError } from "../domain/errors.ts";

/**
 * Lets so many holders at a time pass, in the order of asking. Waiting is bounded: who waited too long is
 * told STORE_BUSY and loses its place.
 *
 * The bound is real time, not the injected clock's: what is waited for is the work of this process and
 * of others, which no clock of a test moves.
 */
export class Turn {
  readonly #holdersMax: number;
  #holders = 0;
  readonly #waiting: Set<() => void> = new Set();

  constructor(holdersMax = 1) {
    this.#holdersMax = holdersMax;
  }

  /** Nobody else can pass now. */
  get taken(): boolean {
    return this.#holders >= this.#holdersMax;
  }

  /** Resolves with the function that ends the turn. @throws CounterfoilError STORE_BUSY. */
  take(waitMs: number): Promise<() => void> {
    if (!this.taken) {
      this.#holders += 1;
      return Promise.resolve(this.#release);
    }
    return new Promise((resolve, reject) => {
      const pass = (): void => {
        clearTimeout(timer);
        resolve(this.#release);
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(pass);
        const message = `Cannot begin: other transactions of this process took ${waitMs} ms; try again`;
        reject(new CounterfoilError("STORE_BUSY", message));
      }, waitMs);
      this.#waiting.add(pass);
    });
  }

  readonly #release = (): void => {
    const [next] = this.#waiting;
    if (!next) {
      this.#holders -= 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  };
}
