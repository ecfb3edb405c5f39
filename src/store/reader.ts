import type { Instant } from "../domain/instant.ts";
import type { Attempt, FrozenRequest, Obligation, ObligationState, StoredAnswer } from "../domain/obligation.ts";
import type { Outcome } from "../domain/outcome.ts";
import type { Payload, Receipt } from "../domain/receipt.ts";
import type { AuditEntry, RefusalFacts } from "./records.ts";
import type { ListedRefresh, RefreshPage } from "./refresh-pages.ts";
import type { Refresh, ResourceKey } from "./refresh-writes.ts";

/** Pages go by descending id: `before` is the last id of the page before. */
export interface Page {
  readonly before?: number | undefined;
  readonly limit: number;
}

/** Receipts that have all of these; without any, all of them. */
export interface ReceiptFilter {
  readonly connection?: string | undefined;
  readonly outcome?: Outcome | undefined;
  readonly eventId?: string | undefined;
}

/** Obligations that have all of these; without any, all of them. */
export interface ObligationFilter {
  readonly tenant?: string | undefined;
  readonly state?: ObligationState | undefined;
  readonly effect?: string | undefined;
  /** Start of the operation key. */
  readonly keyPrefix?: string | undefined;
}

/** One redelivery of a known event; `digest` is set where the content differed. */
export interface RecordedDelivery {
  readonly at: Instant;
  readonly digest: string | null;
}

export interface ReceiptDetail {
  readonly receipt: Receipt;
  readonly redeliveries: readonly RecordedDelivery[];
  /** Other contents of this event's id that no operator has acknowledged. */
  readonly mismatches: number;
  readonly waitsFor: { readonly kind: string; readonly id: string } | null;
  readonly obligations: readonly Obligation[];
  /** Whether the bytes are still there, and how many. */
  readonly bytes: number | null;
  readonly audit: readonly RecordedAudit[];
}

export interface RecordedAudit extends AuditEntry {
  readonly at: Instant;
}

export interface ObligationDetail {
  readonly obligation: Obligation;
  /** These three are `null` once retention has removed them. */
  readonly input: string | null;
  readonly request: FrozenRequest | null;
  readonly requestDigest: string | null;
  readonly attempts: readonly Attempt[];
  readonly answer: StoredAnswer | null;
  /** What the provider said to the newest call that it refused, where the bytes of that are kept. */
  readonly refusal: StoredAnswer | null;
  readonly lease: { readonly worker: string; readonly live: boolean } | null;
  /** The first of its order key, where that is another one and not decided: this one must not be sent before it. */
  readonly waitsBehind: Pick<Obligation, "operationKey" | "state"> | null;
  readonly audit: readonly RecordedAudit[];
}

/** What there is, by number. */
export interface Counts {
  readonly receipts: Readonly<Partial<Record<Outcome, number>>>;
  readonly obligations: Readonly<Partial<Record<ObligationState, number>>>;
  readonly deliveries: number;
  readonly mismatches: number;
  /** Refused deliveries kept, by cause. */
  readonly refusals: Readonly<Record<string, number>>;
  /** When the oldest obligation that is still owed was created. */
  readonly oldestOwedAt: Instant | null;
  readonly pausedDestinations: readonly { readonly destination: string; readonly reason: string }[];
  readonly pausedConnections: readonly { readonly connection: string; readonly reason: string }[];
  /** What is due now, with the time since when; calls to paused destinations and events of paused connections left out. */
  readonly due: readonly DueWork[];
  readonly refreshes: RefreshCounts;
  /** Workers that are not forgotten, the one seen last first. */
  readonly workers: readonly SeenWorker[];
  /** What was written over or removed and still takes room; left out where an engine has no such rows. */
  readonly deadRows?: DeadRows;
  /** The log of commits that are not all in the database's file yet; left out where a server keeps it. */
  readonly log?: LogSize;
  readonly now: Instant;
}

/** Refreshes by number: waiting or running, and failed for good. */
export interface RefreshCounts {
  readonly owed: number;
  readonly failed: number;
  /** Kinds with something due now, with the time since when. */
  readonly due: readonly { readonly kind: string; readonly at: Instant }[];
}

/** Dead rows of our tables, and who may still see them at this moment. */
export interface DeadRows {
  /** By the server's estimate. */
  readonly count: number;
  /** Whoever keeps rows that died since from being removed: the one that keeps most first, twenty at most. */
  readonly keptBy: readonly SnapshotHolder[];
}

/**
 * Something that holds an old state of the database, so that no row that died since can be removed.
 *
 * - `transaction`: a connection's, that is still open
 * - `prepared`: a transaction that was prepared for a two-phase commit, and neither committed nor rolled back
 * - `slot`: a replication slot, whose replica may be gone
 * - `replica`: a replica that runs queries, by its feedback
 */
export interface SnapshotHolder {
  readonly kind: "transaction" | "prepared" | "slot" | "replica";
  readonly name: string;
  /** Since when; `null` where the server does not tell. */
  readonly since: Instant | null;
  /** Transactions that wrote since. */
  readonly transactions: number;
}

/** A write-ahead log: it starts over once all of it is copied, which a reader that goes on and on prevents. */
export interface LogSize {
  readonly bytes: number;
  /** How much of it is not in the database's file yet. */
  readonly uncopiedBytes: number;
}

/** The oldest due obligation of an effect, or the oldest due event where `effect` is `null`. */
export interface DueWork {
  readonly effect: string | null;
  readonly at: Instant;
}

/** A worker as it last told of itself, which it does about once in a lease's time. */
export interface SeenWorker {
  readonly name: string;
  readonly effects: readonly string[];
  readonly startedAt: Instant;
  readonly seenAt: Instant;
  /** When it ended in order; `null` while it runs, and for ever where it was killed. */
  readonly stoppedAt: Instant | null;
}

/** Pages of what needs an operator: `after` is the cursor of the last item of the page before. */
export interface AttentionPage {
  readonly after?: string | undefined;
  readonly limit: number;
}

/** One thing that only an operator can decide. `cursor` says where the list goes on behind it. */
export type Attention = { readonly cursor: string } & (
  | { readonly kind: "obligation"; readonly obligation: Obligation }
  | { readonly kind: "receipt"; readonly receipt: Receipt; readonly mismatches: number }
  | { readonly kind: "destination"; readonly destination: string; readonly reason: string }
  | { readonly kind: "connection"; readonly connection: string; readonly reason: string }
  | { readonly kind: "refresh"; readonly refresh: Refresh }
  /** Due for an hour, and no worker that was seen in that hour takes it. */
  | { readonly kind: "effect"; readonly effect: string; readonly dueAt: Instant }
  /** A kind of resource of which a refresh has been due for an hour, and nobody asks its source. */
  | { readonly kind: "resource"; readonly resource: string; readonly dueAt: Instant }
);

/** Reads for operators. Each is short and bounded; none sees an open transaction. */
export interface StoreReader {
  counts(): Promise<Counts>;
  pausedDestinations(): Promise<Counts["pausedDestinations"]>;
  pausedConnections(): Promise<Counts["pausedConnections"]>;
  receipts(filter: ReceiptFilter, page: Page): Promise<readonly Receipt[]>;
  /** Connections of which an event is due, other than these and those that are paused, in the order of their ids behind one. */
  dueConnections(options: {
    readonly except: readonly string[];
    readonly after: string;
    readonly limit: number;
  }): Promise<readonly string[]>;
  obligations(filter: ObligationFilter, page: Page): Promise<readonly Obligation[]>;
  receipt(id: number): Promise<ReceiptDetail | undefined>;
  obligation(tenant: string, operationKey: string): Promise<ObligationDetail | undefined>;
  payload(receiptId: number): Promise<Payload | undefined>;
  /**
   * What needs an operator: stuck; uncertain with no lookup due; settling whose hook has failed for
   * good; a refresh that has failed for good, or a kind that nobody refreshes; conflict, quarantined, suspect; held or parked past their deadline; due for an
   * hour and taken by nobody; events with a mismatch that no operator has acknowledged. Kinds take turns; each thing is there once. Rejects
   * with a RangeError where `after` is no cursor.
   */
  attention(page: AttentionPage): Promise<readonly Attention[]>;
  /** What is owed, or was, to a resource that is asked for at its source. */
  refresh(key: ResourceKey): Promise<Refresh | undefined>;
  /** Refreshes that are waiting or running, or have failed for good, by resource. Rejects with a RangeError where `after` is no cursor. */
  refreshes(filter: { readonly connection?: string | undefined }, page: RefreshPage): Promise<readonly ListedRefresh[]>;
  refusals(page: { readonly limit: number }): Promise<readonly RefusalFacts[]>;
  /** Snapshots kept, for applications and tests. */
  snapshot(key: {
    readonly connection: string;
    readonly account: string;
    readonly kind: string;
    readonly id: string;
  }): Promise<{ readonly revision: string; readonly digest: string; readonly state: string | null } | undefined>;
}
