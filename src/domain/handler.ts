import type { Arrived } from "./arrived.ts";
import type { Owe } from "./effect.ts";
import type { JsonPath } from "./json.ts";
import type { Refresh, Resource, SnapshotInput, SnapshotResult } from "./resource.ts";
import type { Tx } from "./sql.ts";
import type { Withdraw } from "./withdraw.ts";

/** A verified delivery, parsed. */
export interface Event<Type extends string = string, Data = unknown> {
  readonly connection: string;
  readonly account: string;
  readonly tenant: string;
  readonly id: string;
  readonly type: Type;
  /** The provider's payload, where its preset says it is. */
  readonly data: Data;
  /** The whole parsed body. */
  readonly body: unknown;
  /** The signed bytes, as they arrived. */
  readonly raw: Uint8Array;
  /**
   * A number's digits, or a string, as they stand in the body at this path: integers beyond 2^53 are
   * rounded in `data` and `body`. `undefined` where there is neither.
   */
  readonly exactText: (path: JsonPath) => string | undefined;
}

declare const verdict: unique symbol;

/**
 * What `refuse`, `ignore` and `waitFor` give back: return it. It decides even when it is not returned.
 *
 * `void` is a part of it so that a handler whose last path returns nothing compiles under
 * TypeScript's `noImplicitReturns`.
 */
export type Verdict = { readonly [verdict]: true } | void;

/** Replaces a resource's state when the revision is newer. Throws `SnapshotConflict` on a tie with other content. */
export type Snapshot = <State>(
  resource: Resource<State>,
  input: SnapshotInput<NoInfer<State>>,
) => Promise<SnapshotResult>;

/** What the application's own transactions and handlers share. */
export interface WorkContext {
  readonly tx: Tx;
  readonly owe: Owe;
  readonly withdraw: Withdraw;
  readonly snapshot: Snapshot;
  /** Marks a resource to be asked for at its source; once is enough, however often it is said. */
  readonly refresh: Refresh;
  readonly arrived: Arrived;
}

/** What a handler works with. It may run again, so it touches nothing but this. */
export interface HandlerContext<E = Event> extends WorkContext {
  readonly event: E;
  /** Rolls back and parks the event until that thing arrives. */
  readonly waitFor: (kind: string, id: string) => Verdict;
  /** Rolls back: the guard said no, with a reason for the operator. */
  readonly refuse: (reason: string) => Verdict;
  /** Rolls back: nothing to do here, and why. */
  readonly ignore: (reason: string) => Verdict;
}

/** What an event does to your data. It runs inside the transaction that keeps the receipt, and may run again. */
export type Handle<E> = (context: HandlerContext<E>) => Promise<Verdict> | Verdict;

/** A handler for one event type of one provider, made by `provider.on`. */
export interface Handler<ProviderName extends string = string> {
  readonly provider: ProviderName;
  readonly type: string;
  /** Checks `event.data` before the transaction; what does not fit is quarantined. */
  readonly accepts: (data: unknown) => { readonly data: unknown } | { readonly problem: string };
  readonly handle: Handle<Event>;
}
