import type { StoreTx, Strand } from "../store.ts";
import type { StrandLine } from "./strands.ts";
import { PostgresTransaction, type TransactionParts } from "./transaction.ts";

export interface StrandOptions {
  /** A transaction on the strand's line. */
  readonly parts: TransactionParts;
  /** Called when its body has failed: the transaction that it is of must not be kept. */
  readonly onFailed: (error: unknown) => void;
}

/** A strand of an open transaction. */
export class PostgresStrand implements Strand {
  readonly #line: StrandLine;
  readonly #options: StrandOptions;

  constructor(line: StrandLine, options: StrandOptions) {
    this.#line = line;
    this.#options = options;
  }

  get sent(): number {
    return this.#line.sent;
  }

  until(sent: number): Promise<void> {
    return this.#line.until(sent);
  }

  async run<T>(body: (tx: StoreTx) => Promise<T>): Promise<T> {
    const { parts, onFailed } = this.#options;
    try {
      return await parts.scopes.transaction(() => body(new PostgresTransaction(parts)));
    } catch (error) {
      onFailed(error);
      throw error;
    }
  }
}
