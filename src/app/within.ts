import type { DatabaseSync } from "node:sqlite";
import type { WorkContext } from "../domain/handler.ts";
import type { UserTransaction } from "../domain/user-transaction.ts";
import type { Received } from "../inbox/arrival.ts";
import type { Connections } from "../inbox/connections.ts";
import type { Inbox } from "../inbox/inbox.ts";
import type { StoreTx } from "../store/store.ts";
import type { Runtime } from "../work/runtime.ts";
import { runUnit } from "../work/unit.ts";
import { noSignals, type Signals } from "../work/wake.ts";
import { connectionOf, type DeliveryInput, deliveryOf, scopeOf, type TransactionScope } from "./own-work.ts";

/**
 * A transaction that you have begun with your own tool: what an adapter of `counterfoil/adapters` made of
 * it, or, where SQLite is the store, the connection of `node:sqlite` that it is open on.
 */
export type OwnTransaction = UserTransaction | DatabaseSync;

/**
 * Counterfoil inside a transaction that you have begun with your own tool, and that you end.
 *
 * What is done here is kept when you commit, and leaves nothing when you roll back. A call that rejects
 * has undone its own work, and yours inside its body; what you did before it stands, and your transaction
 * goes on. RACE_LOST is the exception in meaning: roll back and run your whole transaction again.
 */
export interface Within {
  /** As `app.transaction`, in your transaction; the body may also use your tool. Await it before you go on. */
  readonly run: <T>(scope: TransactionScope, body: (context: WorkContext) => Promise<T> | T) => Promise<T>;
  /**
   * As `app.receive`, in your transaction. Answer the sender once your commit has succeeded, never before:
   * an answer that precedes it may acknowledge what is lost.
   */
  readonly receive: (connection: string, delivery: DeliveryInput) => Promise<Received>;
}

interface WithinParts {
  readonly runtime: Runtime;
  readonly connections: Connections;
  readonly inbox: Inbox;
  /** Resolves once the store is open. */
  readonly opened: () => Promise<void>;
}

/** Nobody is woken by what is done here: the commit that would tell of it is the user's. */
export function within(transaction: OwnTransaction, { runtime, connections, inbox, opened }: WithinParts): Within {
  const { store, clock, limits } = runtime;
  const inside = <T>(work: (tx: StoreTx, signals: Signals) => Promise<T>): Promise<T> =>
    store.within(transaction, (tx) => work(tx, noSignals()), { waitMs: limits.lockMs });
  return {
    run: async (given, body) => {
      await opened();
      const scope = await scopeOf(connections, given);
      return inside((tx, signals) => runUnit(tx, { scope, runtime, signals }, body));
    },
    receive: async (id, delivery) =>
      inbox.receiveWithin(await connectionOf(connections, id), deliveryOf(delivery, clock.wallMs()), inside),
  };
}
