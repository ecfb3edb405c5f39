/** What a database does for obligations: a part of the contract in store.ts. */
import type { Instant, Stamp } from "../domain/instant.ts";
import type {
  AttemptEnd,
  AttemptKind,
  FrozenRequest,
  Obligation,
  Progress,
  StoredAnswer,
} from "../domain/obligation.ts";

/** An obligation about to be owed. */
export interface ObligationDraft {
  readonly tenant: string;
  readonly operationKey: string;
  readonly effect: string;
  readonly destination: string;
  readonly connection: string;
  readonly account: string;
  readonly receiptId: number | null;
  /** The input as JSON text, and the digest that decides whether the same key owes the same thing. */
  readonly input: string;
  readonly inputDigest: string;
  readonly request: FrozenRequest;
  readonly requestDigest: string;
  /** What it must not overtake the others of, its tenant in front. */
  readonly orderKey: string | null;
  /** The earliest time of its first attempt. */
  readonly notBefore: Instant | null;
}

/** An operation that is taken back before it was ever owed. */
export type Tombstone = Pick<ObligationDraft, "tenant" | "operationKey" | "connection" | "account" | "receiptId">;

/** Why a tombstone is where it is, for people. */
export const neverOwed = "taken back before it was owed";

export type OwedObligation =
  | { readonly kind: "created"; readonly id: number }
  | { readonly kind: "same"; readonly id: number }
  /** The operation was taken back, or that was asked for. */
  | { readonly kind: "withdrawn"; readonly id: number }
  /** The key is taken by other input, or by another effect. */
  | { readonly kind: "conflict"; readonly id: number };

/** Obligations of one effect to one destination; claims are made per lane so that none delays another. */
export interface Lane {
  readonly effect: string;
  readonly destination: string;
  /** Whether its claims call the destination. Those whose hook is to run do not: they are a lane of their own. */
  readonly calls: boolean;
}

/** An obligation under lease, with all that its next step needs. */
export interface Claim {
  readonly obligation: Obligation;
  readonly kind: AttemptKind;
  readonly fence: number;
  readonly input: string;
  readonly request: FrozenRequest;
  readonly requestDigest: string;
  /** The stored answer, where a settle hook is to run or an earlier attempt learned it. */
  readonly answer: StoredAnswer | null;
  /** An earlier attempt ended `done` after its lease was lost: late evidence. */
  readonly evidence: boolean;
  /** The stamp of the claiming transaction. */
  readonly claimedAt: Stamp;
}

/** A lease that ran out: its holder died, was cut off, or will find its fence refused. */
export interface ExpiredLease {
  readonly obligation: Obligation;
  readonly kind: AttemptKind;
  /** The stamp of the claiming transaction: the earliest instant at which the attempt can have reached the provider. */
  readonly claimedAt: Stamp;
}

/** One step of an obligation, written as a whole. */
export interface Move {
  readonly obligationId: number;
  /** The fence this move holds or saw; another one changes nothing. */
  readonly fence: number;
  readonly to: Progress;
  /**
   * How the attempt of this fence ended, by its holder, or as presumed by who found its lease ended.
   * Kept on an attempt without an end even when the fence is stale; the holder's word (no
   * `raiseFence`) also replaces a presumed `crashed`, so that a late answer is never lost.
   */
  readonly attempt: AttemptEnd | null;
  /** Keep the lease for a next step under the same fence, such as the hook after the answer. */
  readonly keepLease: boolean;
  /** Set by anyone who does not hold the lease. */
  readonly raiseFence: boolean;
  /** An answer to store besides the attempt's own: what a lookup found or an operator gave. */
  readonly answer?: StoredAnswer | null;
}

/** Where a walk over order keys got, and how many obligations it gave a due time. */
export interface FreedOrders {
  readonly freed: number;
  /** The last order key looked at; `null` at the end. */
  readonly next: string | null;
}

export interface ObligationWrites {
  /**
   * Owes a handler's obligations in one call; keys of one call may repeat. One with an order key gets a
   * due time only once every earlier one of that key has taken effect or is closed.
   */
  owe(drafts: readonly ObligationDraft[]): Promise<readonly OwedObligation[]>;
  /** Keeps an operation as withdrawn that nobody owes; false where the key is known, which changes nothing. */
  bury(tombstone: Tombstone): Promise<boolean>;
  /** Notes that no new attempt may begin; what is owed becomes due, so that this is heeded soon. Touches no fence. */
  requestCancel(obligationId: number): Promise<void>;
  /** Those of these for which that was asked. */
  cancelRequested(obligationIds: readonly number[]): Promise<ReadonlySet<number>>;
  /** Lanes with something due; those that call a paused destination are left out. */
  dueLanes(): Promise<readonly Lane[]>;
  /** Claims what is due in these lanes, oldest first: raises the fence, takes the lease, writes the attempt. */
  claim(options: {
    readonly lanes: readonly (Lane & { readonly limit: number })[];
    readonly worker: string;
    readonly leaseMs: number;
  }): Promise<readonly Claim[]>;
  /** Renews leases; false where the fence is stale or the lease has ended. */
  renew(
    held: readonly { readonly obligationId: number; readonly fence: number }[],
    leaseMs: number,
  ): Promise<readonly boolean[]>;
  /**
   * Moves obligations; false where the fence was stale, which changes no obligation. Where one of an order
   * key has taken effect or is closed, the next of that key gets its due time. One that is owed again loses
   * its due time while an earlier one of its key is not decided, whatever the move says.
   */
  move(moves: readonly Move[]): Promise<readonly boolean[]>;
  /**
   * Gives due times to what is first of its order key and has none, after an order key. It finds only what
   * a transaction could not see when it should have.
   */
  freeOrders(after: string, limit: number): Promise<FreedOrders>;
  /** Obligations whose lease has ended, locked in this transaction. */
  expiredLeases(limit: number): Promise<readonly ExpiredLease[]>;
  /** Which of these have an attempt that ended `done`: late evidence that a decision must read first. */
  evidence(obligationIds: readonly number[]): Promise<ReadonlyMap<number, StoredAnswer>>;
  /** One obligation, locked in this transaction, by its operation key. */
  lockObligation(tenant: string, operationKey: string): Promise<Obligation | undefined>;
  /** Replaces what is sent for an obligation, once it has been moved under its fence. */
  amend(obligationId: number, request: FrozenRequest, requestDigest: string): Promise<void>;
  /** Pauses or resumes a destination; calls to a paused one are never claimed, hooks of it are. */
  pauseDestination(destination: string, reason: string | null): Promise<void>;
}
