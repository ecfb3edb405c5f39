/**
 * What of the contract concerns refreshes: resources whose state is asked for at their source.
 *
 *   idle --want--> due --claim (ticket + 1)--> running --end--> idle
 *                   ^                             |--want--> running, and due again at its end
 *                   |--- failed: later -----------|--- failed for good --> the operator's, until wanted again
 *
 * So one is running and one is waiting at most. A claim whose end has come is due again: asking twice does
 * no harm, and the ticket, which is the fence too, keeps what was asked first from what was asked later.
 */
import type { Instant } from "../domain/instant.ts";

/** Names a resource of one account. */
export interface ResourceKey {
  readonly connection: string;
  readonly account: string;
  readonly kind: string;
  readonly id: string;
}

/** A refresh about to be owed. */
export interface RefreshDraft extends ResourceKey {
  readonly tenant: string;
}

/** A refresh that somebody carries out. */
export interface RefreshClaim extends RefreshDraft {
  /** Taken when the fetch begins, greater than any before it. */
  readonly ticket: number;
  readonly tries: number;
}

/** A refresh that was just claimed. */
export interface ClaimedRefresh extends RefreshClaim {
  /** The revision that was kept when it was claimed; unknown where none was. */
  readonly kept: string;
}

/** How a refresh ended. */
export interface RefreshEnd extends ResourceKey {
  readonly ticket: number;
  readonly tries: number;
  /** When it is tried again; `null` when it is done, or the operator's. */
  readonly dueAt: Instant | null;
  /** Why it failed. */
  readonly reason: string | null;
}

export interface RefreshWrites {
  /** Owes refreshes: of each resource one at most, and one more while one is running. */
  wantRefreshes(drafts: readonly RefreshDraft[]): Promise<void>;
  /** Claims what is due of a kind, the oldest first. */
  claimRefreshes(options: {
    readonly kind: string;
    readonly limit: number;
    readonly leaseMs: number;
  }): Promise<readonly ClaimedRefresh[]>;
  /** Ends a refresh; false where a later ticket was taken, which changes nothing. */
  endRefresh(end: RefreshEnd): Promise<boolean>;
  /** Takes back a refresh that waits or has failed; false where it runs, or is not as it was read. */
  dropRefresh(refresh: Refresh): Promise<boolean>;
}

/** A refresh as operators see it. */
export interface Refresh extends RefreshClaim {
  readonly running: boolean;
  readonly dueAt: Instant | null;
  readonly reason: string | null;
  readonly updatedAt: Instant;
}

export interface RefreshRow extends RefreshClaim {
  readonly due_at: number | null;
  readonly lease_until: number | null;
  readonly reason: string | null;
  readonly updated_at: number;
}

export function toRefresh({ due_at, lease_until, reason, updated_at, ...claim }: RefreshRow): Refresh {
  return { ...claim, running: lease_until !== null, dueAt: due_at, reason, updatedAt: updated_at };
}
