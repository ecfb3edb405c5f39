/** The part of a store's contract that keeps it in order: what is old, who is there, what a wrong clock wrote. */

/** What a worker tells of itself once in a while. */
export interface WorkerSign {
  readonly name: string;
  /** Effects that it takes. */
  readonly effects: readonly string[];
  /** Workers that have not been seen for so long are forgotten. */
  readonly forgetMs: number;
}

/** How far from now a due time, or a deadline, can have been meant to be. */
export interface DueBounds {
  readonly receiptsMs: number;
  readonly deadlinesMs: number;
  readonly refreshesMs: number;
  /** Obligations of other effects are left as they are. */
  readonly obligations: readonly { readonly effect: string; readonly withinMs: number }[];
}

/**
 * What goes when it is old. Nothing that is open is touched, nor any key: receipts, operation keys and
 * fences stay, and so do snapshots with their tombstones, which keep older states away.
 *
 * - `payloads`: bytes of events whose own time has come
 * - `requests`: frozen requests and inputs of finished obligations
 * - `answers`: stored answers of finished obligations
 * - `attempts`: attempts of finished obligations
 * - `refusals`: safe facts of refused deliveries
 */
export const prunableKinds = ["payloads", "requests", "answers", "attempts", "refusals"] as const;
export type PrunableKind = (typeof prunableKinds)[number];

export interface PruneBatch {
  readonly kind: PrunableKind;
  /** How long ago it must have ended, or been noted; payloads carry their own time instead. */
  readonly olderThanMs: number;
  /** Where the batch before ended; 0 begins with the oldest. */
  readonly after: number;
  /** Things looked at, at most. */
  readonly limit: number;
  /** Count, and remove nothing. */
  readonly dryRun: boolean;
}

export interface Pruned {
  /** Events, obligations or refusals that lost what the kind names, or would. */
  readonly count: number;
  /** Where the next batch begins; `null` when there is nothing old behind this one. */
  readonly next: number | null;
}

/** Things that need a person, by keys that stay the same while they do. */
export interface NoticeClaim {
  readonly keys: readonly string[];
  /** How long telling may take; whoever is not done by then may have died. */
  readonly leaseMs: number;
}

/** What keeps a store in order, rarely and apart from its work. */
export interface UpkeepWrites {
  /** Removes one batch of what is old, the oldest first. */
  prune(batch: PruneBatch): Promise<Pruned>;
  /** Notes that a worker is here now. */
  seeWorker(sign: WorkerSign): Promise<void>;
  /** Notes that a worker ended in order: nothing of it runs any more. */
  leaveWorker(name: string): Promise<void>;
  /**
   * Brings due times and deadlines that are further away than their bound back to it; gives how many.
   *
   * Only a wall clock that was ahead for a while can have written such a one: the row would wait for
   * that far time, on nobody's list. A wish for a later time stands apart from the due time and is kept.
   */
  clampDue(bounds: DueBounds): Promise<number>;
  /** Claims those of the keys that nobody was told of, or is being told of now; gives them. */
  claimNotices(claim: NoticeClaim): Promise<readonly string[]>;
  /** Ends claims: what was told is not told again; what was not may be claimed at once. */
  settleNotices(keys: readonly string[], isTold: boolean): Promise<void>;
  /**
   * Forgets all that was told but these: what is on the list once more is news. Of keys that begin with
   * `watch/`, which not every process judges, only those that are `judged` are forgotten.
   */
  forgetNotices(kept: readonly string[], judged: readonly string[]): Promise<void>;
}
