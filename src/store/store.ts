/**
 * The contract between the engine and a database.
 *
 * It is batch-shaped: a group's receipts are claimed in one call, a handler's obligations are owed in
 * one call, a batch of claims moves in one call; an engine is free to do each in one round trip or in
 * a loop. Nothing above this file knows SQL of ours, lock modes, or how a lease's end is stored.
 *
 * What every engine must hold, and the conformance suite checks:
 * - `transaction` commits durably before it resolves (unless it is fleeting), or leaves nothing. One that rejects with
 *   COMMIT_UNKNOWN may have committed: only the receipt's key can tell.
 * - `claimReceipts` inserts a receipt for each new key, as if applied; a concurrent copy waits for it
 *   and then sees `known`. Keys of one call are distinct.
 * - `attempt` runs a body so that its work is kept whole or undone whole, whatever the body does.
 * - Every write of a lease holder names the fence; another fence changes nothing and says so.
 * - A fence only grows, in a row that is never deleted. Every move by someone who does not hold the
 *   lease raises it, so that the holder learns nothing was changed by it.
 * - All instants come from the store's own clock, read once per transaction.
 */
import type { Clock } from "../domain/clock.ts";
import type { Finding } from "../domain/finding.ts";
import type { Instant, Stamp } from "../domain/instant.ts";
import type { Limits } from "../domain/limits.ts";
import type { SqlResult, SqlValue } from "../domain/sql.ts";
import type { ObligationWrites } from "./obligation-writes.ts";
import type { StoreReader } from "./reader.ts";
import type { ReceiptWrites } from "./receipt-writes.ts";
import type { AuditEntry, RefusalFacts } from "./records.ts";
import type { RefreshWrites } from "./refresh-writes.ts";
import type { UpkeepWrites } from "./upkeep.ts";

/** What an engine can and cannot do, where the engine above must act differently. */
export interface Capabilities {
  /** Transactions of other processes may commit while ours is open; `false` where one lock serialises writers. */
  readonly concurrentWriters: boolean;
  /** A handler that waits for anything but its transaction is found at once, not by a time limit. */
  readonly handlersSettleAtOnce: boolean;
}

/** What a database does for the engine: one that meets this contract, and its conformance suite, can hold your data. */
export interface Store {
  readonly kind: string;
  readonly capabilities: Capabilities;
  /**
   * The clocks that stamps are read from, which are then the application's too; left out where a
   * server has the only clock.
   */
  readonly clock?: Clock;
  /**
   * What is not there that `open` would create, in words, for whoever came to look and not to create;
   * `undefined` where it is there. Left out where opening creates nothing.
   */
  missing?(): string | undefined;
  /**
   * Opens and checks: settings, version, file system, schema. Rejects with SCHEMA_OUTDATED before a
   * needed migration; `migrate` and another `open` may follow. The limits are the defaults unless given.
   */
  open(limits?: StoreLimits): Promise<void>;
  /** Lets the transaction under way end, then closes. What is asked afterwards rejects with STORE_UNAVAILABLE. */
  close(): Promise<void>;
  /** Brings the schema up to date under a lock; names what it ran. Harmless when several processes do it at once. */
  migrate(): Promise<readonly string[]>;
  /**
   * Runs a body in one durable transaction.
   *
   * Waits for the lock until `waitMs` has passed, then rejects with STORE_BUSY. An attempt that meets a lock
   * which stays with somebody else rejects with STORE_BUSY as well, and is undone. A body that throws
   * rolls everything back and rejects with its error; where the database itself broke the transaction,
   * with the code of that. A transaction begun inside another of the same store is refused with
   * TRANSACTION_CONTROL.
   */
  transaction<T>(body: (tx: StoreTx) => Promise<T>, options: TransactionOptions): Promise<T>;
  /**
   * Runs a body in a transaction that the user's own tool has begun, and leaves its end to the user.
   *
   * What the body does is undone where it rejects, and the user's transaction goes on; it is kept when the
   * user commits, and nothing is told of that here. Nothing is run again: RACE_LOST means that the user's
   * whole transaction has to be. Rejects with TRANSACTION_CLOSED where no transaction is open, and with
   * TRANSACTION_BROKEN where it was ended meanwhile.
   */
  within<T>(given: unknown, body: (tx: StoreTx) => Promise<T>, options: TransactionOptions): Promise<T>;
  /** Reads for operators: short, paged, apart from the write path. */
  readonly reader: StoreReader;
  /** Looks for what can be wrong with a database that opens: settings, room, durability. */
  inspect(): Promise<readonly Finding[]>;
  /**
   * Calls back when a commit of another process made work, until the function that this gives is called;
   * absent where the database cannot tell. A hint: some are missed, and polling finds the same work.
   */
  readonly listen?: (heard: (news: News) => void) => () => void;
}

/** What commits of other processes made due: obligations, or events. */
export interface News {
  readonly owed: boolean;
  readonly arrived: boolean;
}

/** The limits that the store itself keeps. */
export type StoreLimits = Pick<Limits, "deliveriesKept" | "mismatchesKept" | "refusalsKept" | "handlerMs">;

export interface TransactionOptions {
  /** Longest wait to begin, and for each lock after that. */
  readonly waitMs: number;
  /** Longest wait for what another transaction holds, where writers meet in more than one lock; what is left of `waitMs` unless given. */
  readonly lockMs?: number;
  /** Longest time of a statement, where an engine can bound it; the engine's own default unless given, and never more. */
  readonly statementMs?: number;
  /**
   * Its attempts are expected to be kept: the engine may leave out what would undo one, and reject with RACE_LOST
   * where one is to be undone after all.
   */
  readonly hopeful?: boolean;
  /** What it commits must outlive this process, and may be lost with the machine: nobody waits for the disk. */
  readonly fleeting?: boolean;
  /** Only statements of the engine's own run in it: their plans may be made once and kept. */
  readonly plansKept?: boolean;
}

export interface AttemptOptions {
  /** Time of the whole body, its statements included; without, only its waits for anything else are bounded. */
  readonly withinMs?: number;
}

/** An open transaction. Valid until the body that received it settles. */
export interface StoreTx extends ReceiptWrites, ObligationWrites, StateWrites, RefreshWrites, UpkeepWrites {
  /** One reading of the store's clocks. */
  readonly stamp: Stamp;
  /** `stamp.wallMs`. */
  readonly now: Instant;
  /**
   * The driver's handle, guarded against transaction control; dead once the attempt (or the
   * transaction) that was innermost when it was read has ended.
   */
  readonly native: unknown;
  /** Runs a user's statement. Transaction control is refused with TRANSACTION_CONTROL. */
  query(
    text: TemplateStringsArray,
    values: readonly SqlValue[],
  ): Promise<SqlResult<Readonly<Record<string, SqlValue>>>>;
  /** Runs a statement whose text was built from declared identifiers, with `?` for each value. */
  run(text: string, values: readonly SqlValue[]): Promise<SqlResult<Readonly<Record<string, SqlValue>>>>;
  /**
   * Runs a body whose work is undone when it throws, without ending the transaction.
   *
   * Rejects with the body's error; with HANDLER_UNFINISHED when the body waits for something other
   * than this transaction (found at once, or by `handlerMs`), or takes longer than `withinMs`; with TRANSACTION_BROKEN when the transaction itself is gone, after which
   * nothing more can be done in it; with RACE_LOST when the whole transaction has to run again.
   */
  attempt<T>(body: () => Promise<T>, options?: AttemptOptions): Promise<T>;
  /** Bounds each later wait of this transaction for what another one holds; nothing where one lock serialises writers. */
  boundLocks(lockMs: number): void;
  /**
   * A strand behind those before it, for one of several bodies that run beside each other. `undefined` where
   * statements are carried out at once, so that nothing would be gained, or where an attempt may have to be
   * undone by itself. The transaction may be used again once all its strands have ended.
   */
  strand(): Strand | undefined;
}

/**
 * A part of a transaction that is carried out before every later strand, and behind every earlier one.
 *
 * A strand that sends something after a later one has done so rejects with RACE_LOST: the transaction has to
 * run again.
 */
export interface Strand {
  /** Statements that it has sent. */
  readonly sent: number;
  /** Resolves once it has sent so many. */
  until(sent: number): Promise<void>;
  /** Runs its body, once, with a transaction object of its own, which is valid until the body settles. */
  run<T>(body: (tx: StoreTx) => Promise<T>): Promise<T>;
}

/** The revision of a row that came without one: before every other, and taken over by an operator's or a source's word at the one that is kept. */
export const unknownRevision = "unknown";

export interface SnapshotDraft {
  readonly connection: string;
  readonly account: string;
  readonly kind: string;
  readonly id: string;
  /** Decimal text of an integer of any size, or `unknownRevision`. */
  readonly revision: string;
  readonly digest: string;
  /** The state as JSON text; `null` for a deletion, which leaves a tombstone. */
  readonly state: string | null;
  /** Take this content also on a tie: an operator chose it. */
  readonly force: boolean;
}

export interface StateWrites {
  /** Replaces a snapshot under its guard: one conditional write, never read, compare and write. */
  snapshot(draft: SnapshotDraft): Promise<"applied" | "stale" | "same" | "conflict">;
  audit(entry: AuditEntry): Promise<void>;
  /** Adds refused deliveries to a bounded ring of safe facts. */
  recordRefusals(refusals: readonly RefusalFacts[]): Promise<void>;
  /** Writes what says nothing, so that the commit shows whether anything can be kept now. */
  touch(): Promise<void>;
}

export {
  type DueBounds,
  type NoticeClaim,
  prunableKinds,
  type PrunableKind,
  type PruneBatch,
  type Pruned,
  type UpkeepWrites,
  type WorkerSign,
} from "./upkeep.ts";
export { neverOwed } from "./obligation-writes.ts";
export type {
  Claim,
  ExpiredLease,
  FreedOrders,
  Lane,
  Move,
  ObligationDraft,
  ObligationWrites,
  OwedObligation,
  Tombstone,
} from "./obligation-writes.ts";
export type { AuditEntry, RefusalFacts };
export type * from "./receipt-writes.ts";
export type * from "./refresh-writes.ts";
