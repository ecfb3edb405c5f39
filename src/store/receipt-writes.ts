/** What of the contract concerns receipts: claimed, decided, found again when they are due. */
import type { Instant } from "../domain/instant.ts";
import type { Decision, Prerequisite } from "../domain/outcome.ts";
import type { OrderKey, Payload, Receipt, ReceiptKey } from "../domain/receipt.ts";

/** A delivery about to become a receipt. */
export interface ReceiptDraft extends ReceiptKey {
  readonly tenant: string;
  readonly type: string;
  readonly digest: string;
  readonly secretId: string;
  readonly payload: Payload;
  /** How long the bytes stay once the event is applied; open outcomes keep them until decided. */
  readonly bytesKeptMs: number;
  /** Set where the id is not signed: the digest is a second key from `since` on. */
  readonly replay: { readonly digest: string; readonly windowMs: number } | null;
}

export type ClaimedReceipt =
  /** New: inserted as `applied`, with its payload; `settleReceipts` says otherwise. `paused` where its connection is. */
  | { readonly kind: "fresh"; readonly id: number; readonly paused?: true }
  /** Known already. */
  | { readonly kind: "known"; readonly receipt: Receipt }
  /** New, but the same content came under another id inside the window: inserted as `suspect`. */
  | { readonly kind: "replayed"; readonly id: number; readonly original: Receipt };

export interface SettledReceipt extends Decision {
  readonly id: number;
  /** The version this decision was made on; another one changes nothing. 1 is a fresh receipt. */
  readonly version: number;
  readonly tries: number;
  /** Of the starts that were counted, those that this decision leaves standing. */
  readonly starts: number;
  readonly dueAt: Instant | null;
  readonly deadlineAt: Instant | null;
  /** Orders events released by one arrival; smaller first. */
  readonly rank: string | null;
  /** The line that it stands in from now on; `null` leaves it where it is. */
  readonly orderKey: string | null;
  /** When the bytes may go; `null` while they must stay; `"now"` removes them in this transaction. */
  readonly bytesExpireAt: Instant | "now" | null;
  /** Set when reading the event again told what it was not known to be before. */
  readonly identity?: { readonly tenant: string; readonly type: string };
}

/** A later delivery of a known event; `digest` is set when its content differs. */
export interface Redelivery {
  readonly receiptId: number;
  readonly mismatch: { readonly digest: string; readonly payload: Payload } | null;
}

export interface ReceiptWrites {
  /** Claims the keys of a group, in the order given. */
  claimReceipts(drafts: readonly ReceiptDraft[]): Promise<readonly ClaimedReceipt[]>;
  /**
   * Writes decisions; false where the version was another. Whatever stood in a line and keeps it no more
   * lets the first that is queued behind it be due. Not needed for a fresh receipt that was applied: it stands as claimed.
   */
  settleReceipts(settled: readonly SettledReceipt[]): Promise<readonly boolean[]>;
  /** Removes fresh receipts of this transaction whose sender is to try again. */
  discardReceipts(ids: readonly number[]): Promise<void>;
  /** Removes bytes whose time has come, of at most `limit` events; gives how many events lost theirs. */
  expireBytes(limit: number): Promise<number>;
  /** Counts redeliveries and keeps a bounded record of each; the write that a `duplicate` answer follows. */
  recordRedeliveries(redeliveries: readonly Redelivery[]): Promise<void>;
  /** Takes other contents of this event's id off the operator's list and removes their bytes; gives how many were on it. */
  acknowledgeMismatches(receiptId: number): Promise<number>;
  /**
   * Open events that are due, locked in this transaction with the line that they stand in, by arrival rank
   * and then id. Those that somebody else holds, or whose line, are passed by, and those of paused connections.
   */
  dueReceipts(options: {
    readonly limit: number;
    readonly connections: readonly string[];
  }): Promise<readonly Receipt[]>;
  /** Keeps events of a connection from being applied for a reason, or lets them be again for `null`. */
  pauseConnection(connection: string, reason: string | null): Promise<void>;
  /** Counts a start of each, which are locked, and keeps them from being due for `leaseMs`. */
  startReceipts(ids: readonly number[], leaseMs: number): Promise<void>;
  /** Takes a counted start back and lets them be due at once; those that were decided since are left as they are. */
  returnReceipts(started: readonly Pick<Receipt, "id" | "version">[]): Promise<void>;
  /** Receipts with their bytes, locked and passed by as by `dueReceipts`, in the same order. */
  lockReceipts(ids: readonly number[]): Promise<readonly OpenReceipt[]>;
  /** One receipt, locked in this transaction after the line that it stands in, with its bytes if they are still there. */
  lockReceipt(id: number): Promise<OpenReceipt | undefined>;
  /** Takes the locks of lines: whoever looks who is first in one, or leaves it, has it. */
  lockOrders(lines: readonly OrderKey[]): Promise<void>;
  /** The event that keeps a line, apart from this one: the first by rank and then id. */
  firstInOrder(line: OrderKey, except: number): Promise<InLine | undefined>;
  /** Takes the locks that a park and an arrival of the same name share. */
  lockNames(tenant: string, names: readonly Prerequisite[]): Promise<void>;
  /** Makes events due that are parked on the name; gives their number. */
  arrive(tenant: string, name: Prerequisite): Promise<number>;
}

/** An event in its line. */
export interface InLine {
  readonly id: number;
  readonly rank: string | null;
}

export interface OpenReceipt {
  readonly receipt: Receipt;
  /** The rank that it was given when it was last read. */
  readonly rank: string | null;
  readonly payload: Payload | null;
}
