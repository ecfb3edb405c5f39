/** A step at which a transaction waits, holding what it has, until the test lets it go on. */
export class Stop {
  readonly #reached: PromiseWithResolvers<void> = Promise.withResolvers();
  readonly #goOn: PromiseWithResolvers<void> = Promise.withResolvers();

  /** In the transaction: tells that it is here, and waits. */
  readonly here = (): Promise<void> => {
    this.#reached.resolve();
    return this.#goOn.promise;
  };

  /** In the test: resolves once the transaction is there. */
  get reached(): Promise<void> {
    return this.#reached.promise;
  }

  goOn(): void {
    this.#goOn.resolve();
  }

  /** The transaction rolls back from here. */
  rollBack(): void {
    this.#goOn.reject(new Error("rolled back by the test"));
  }
}
