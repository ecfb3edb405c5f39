/** A span of time that passes only while nothing is asked: who waits for an answer is not to blame for it. */
export class Patience {
  readonly #over: () => void;
  #leftMs: number;
  #since = performance.now();
  #asking = 0;
  #timer: NodeJS.Timeout | undefined;

  /** Begins at once; `over` is called when the time has passed. */
  constructor(ms: number, over: () => void) {
    this.#leftMs = ms;
    this.#over = over;
    this.#run();
  }

  /** Something is asked: the time stands still. */
  asks(): void {
    this.#asking += 1;
    if (this.#asking > 1) return;
    clearTimeout(this.#timer);
    this.#leftMs -= performance.now() - this.#since;
  }

  /** It is answered: once everything is, the time goes on. */
  hears(): void {
    this.#asking -= 1;
    if (this.#asking === 0) this.#run();
  }

  stop(): void {
    // Counted as one that is never answered, so that no timer is set again.
    this.#asking += 1;
    clearTimeout(this.#timer);
  }

  #run(): void {
    this.#since = performance.now();
    this.#timer = setTimeout(this.#over, Math.max(0, this.#leftMs));
  }
}
