import type { OwnTransaction } from "../app/within.ts";
import type { Store } from "../store/store.ts";

/** A tool and its adapter, on a real database. */
export interface AdapterSubject extends AsyncDisposable {
  /** The store of the database that the transactions are begun in, its schema migrated. */
  readonly store: Store;
  /** Runs a body in a transaction that the tool begins: it commits when the body resolves, and rolls back when it rejects. */
  readonly transact: <T>(body: (transaction: OwnTransaction) => Promise<T>) => Promise<T>;
  /** What the tool is known to do otherwise than the rest; each belongs into its documentation. */
  readonly known?: AdapterOddities;
}

/** What a tool does otherwise than the rest. */
export interface AdapterOddities {
  /** Rolls the whole transaction back once a statement of it failed, whoever caught the error. */
  readonly failureEndsTransaction?: boolean;
  /** Gives a bigint column as text. */
  readonly bigintIsText?: boolean;
}
