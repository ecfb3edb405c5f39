/** Refreshes of resources: wanted, claimed, ended. */

import type { RefreshCounts } from "../reader.ts";
import { listedRefresh, type ListedRefresh, placeAfter, type RefreshPage } from "../refresh-pages.ts";
import {
  type ClaimedRefresh,
  type Refresh,
  type RefreshDraft,
  type RefreshEnd,
  type RefreshRow,
  toRefresh,
} from "../refresh-writes.ts";
import type { Handle, ReadHandle } from "./handle.ts";
import { decodeRevision } from "./revision.ts";
import { sql } from "./statements.ts";

// One that waits keeps its time, which a source may have asked for; one that had failed for good begins anew.
const want = sql(
  "refresh.want",
  `INSERT INTO counterfoil_refreshes (connection, account, kind, id, tenant, ticket, again, tries, due_at, updated_at)
   VALUES (?1, ?2, ?3, ?4, ?5, 0, 0, 0, ?6, ?6)
   ON CONFLICT (connection, account, kind, id) DO UPDATE
   SET again = (lease_until IS NOT NULL), tries = iif(due_at IS NULL, 0, tries), due_at = coalesce(due_at, ?6),
     reason = iif(due_at IS NULL, NULL, reason), updated_at = ?6`,
);

/** Owes refreshes. */
export function wantRefreshes(handle: Handle, drafts: readonly RefreshDraft[]): void {
  for (const { connection, account, kind, id, tenant } of drafts) {
    handle.statement(want).run(connection, account, kind, id, tenant, handle.stamp.wallMs);
  }
}

const columns = "connection, account, kind, id, tenant, ticket, tries";

// Index counterfoil_refreshes_due.
const claim = sql(
  "refresh.claim",
  `UPDATE counterfoil_refreshes SET ticket = ticket + 1, again = 0, due_at = ?3, lease_until = ?3, updated_at = ?2
   WHERE (connection, account, kind, id) IN (
     SELECT connection, account, kind, id FROM counterfoil_refreshes
     WHERE kind = ?1 AND due_at IS NOT NULL AND due_at <= ?2 ORDER BY due_at LIMIT +?4)
   RETURNING ${columns}, (SELECT s.revision FROM counterfoil_snapshots AS s
     WHERE (s.connection, s.account, s.kind, s.id) = (counterfoil_refreshes.connection, counterfoil_refreshes.account,
       counterfoil_refreshes.kind, counterfoil_refreshes.id)) AS kept`,
);

/** Claims what is due of a kind. */
export function claimRefreshes(
  handle: Handle,
  { kind, limit, leaseMs }: { readonly kind: string; readonly limit: number; readonly leaseMs: number },
): ClaimedRefresh[] {
  const { wallMs } = handle.stamp;
  const rows = handle.statement(claim).all(kind, wallMs, wallMs + leaseMs, limit);
  return (rows as unknown as ClaimedRow[]).map((row) => ({ ...row, kept: decodeRevision(row.kept ?? "") }));
}

type ClaimedRow = Omit<ClaimedRefresh, "kept"> & { readonly kept: string | null };

const end = sql(
  "refresh.end",
  `UPDATE counterfoil_refreshes SET tries = ?, due_at = iif(again = 1 AND ?2 IS NULL, ?4, ?3), reason = ?2,
     again = 0, lease_until = NULL, updated_at = ?4
   WHERE connection = ?5 AND account = ?6 AND kind = ?7 AND id = ?8 AND ticket = ?9 AND lease_until IS NOT NULL`,
);

/** Ends a refresh; `false` where a later ticket was taken. */
export function endRefresh(handle: Handle, ended: RefreshEnd): boolean {
  const { connection, account, kind, id, ticket, tries, dueAt, reason } = ended;
  const { wallMs } = handle.stamp;
  return handle.statement(end).run(tries, reason, dueAt, wallMs, connection, account, kind, id, ticket).changes === 1;
}

const drop = sql(
  "refresh.drop",
  `UPDATE counterfoil_refreshes SET due_at = NULL, reason = NULL, again = 0, tries = 0, lease_until = NULL, updated_at = ?1
   WHERE connection = ? AND account = ? AND kind = ? AND id = ? AND ticket = ? AND updated_at = ?
     AND (due_at IS NOT NULL OR reason IS NOT NULL) AND (lease_until IS NULL OR lease_until <= ?1)`,
);

/** Takes back a refresh; `false` where it runs, or is not as it was read. */
export function dropRefresh(handle: Handle, refresh: Refresh): boolean {
  const { connection, account, kind, id, ticket, updatedAt } = refresh;
  const { wallMs } = handle.stamp;
  return handle.statement(drop).run(wallMs, connection, account, kind, id, ticket, updatedAt).changes === 1;
}

const failed = sql(
  "read.failed-refreshes",
  `SELECT ${columns}, due_at, lease_until, reason, updated_at FROM counterfoil_refreshes
     INDEXED BY counterfoil_refreshes_failed
   WHERE due_at IS NULL AND reason IS NOT NULL AND (connection, account, kind, id) > (?, ?, ?, ?)
   ORDER BY connection, account, kind, id LIMIT +?`,
);

/** Refreshes that failed for good, behind a key. */
export function failedRefreshes(handle: ReadHandle, after: readonly (string | number)[], limit: number): Refresh[] {
  return (handle.statement(failed).all(...after, limit) as unknown as RefreshRow[]).map(toRefresh);
}

const one = sql(
  "read.refresh",
  `SELECT ${columns}, due_at, lease_until, reason, updated_at FROM counterfoil_refreshes
   WHERE connection = ? AND account = ? AND kind = ? AND id = ?`,
);

/** One refresh. */
export function readRefresh(
  handle: ReadHandle,
  { connection, account, kind, id }: Omit<RefreshDraft, "tenant">,
): Refresh | undefined {
  const row = handle.statement(one).get(connection, account, kind, id);
  return row && toRefresh(row as unknown as RefreshRow);
}

// There are as many as sources that are not asked yet; the answer needs an order that no index of theirs has.
const list = sql(
  "read.refreshes",
  `SELECT * FROM (
     SELECT ${columns}, due_at, lease_until, reason, updated_at FROM counterfoil_refreshes WHERE due_at IS NOT NULL
     UNION ALL
     SELECT ${columns}, due_at, lease_until, reason, updated_at FROM counterfoil_refreshes
       INDEXED BY counterfoil_refreshes_failed WHERE due_at IS NULL AND reason IS NOT NULL)
   WHERE (connection, account, kind, id) > (?1, ?2, ?3, ?4) AND (?5 IS NULL OR connection = ?5)
   ORDER BY connection, account, kind, id LIMIT +?6`,
);

/** Refreshes that are waiting or running, or have failed for good. */
export function listRefreshes(
  handle: ReadHandle,
  { connection = null }: { readonly connection?: string | null | undefined },
  { after, limit }: RefreshPage,
): ListedRefresh[] {
  const rows = handle.statement(list).all(...placeAfter(after), connection, limit);
  return rows.map((row) => listedRefresh(toRefresh(row as unknown as RefreshRow)));
}

// Index counterfoil_refreshes_due: one seek for each kind.
const nextKind = sql(
  "read.refresh-kind",
  `SELECT kind, due_at AS at FROM counterfoil_refreshes
   WHERE due_at IS NOT NULL AND kind > ? ORDER BY kind, due_at LIMIT 1`,
);

/** Each kind with a due time, and the earliest of it. */
function kindsOf(handle: Pick<Handle, "statement">): RefreshCounts["due"] {
  const kinds: { readonly kind: string; readonly at: number }[] = [];
  for (let after = ""; ;) {
    const row = handle.statement(nextKind).get(after) as { readonly kind: string; readonly at: number } | undefined;
    if (!row) return kinds;
    kinds.push(row);
    after = row.kind;
  }
}

/** Kinds with something due now, and since when, by name. */
export function dueRefreshes(handle: ReadHandle): RefreshCounts["due"] {
  const now = handle.stamp().wallMs;
  return kindsOf(handle).flatMap(({ kind, at }) => (at <= now ? [{ kind, at }] : []));
}

const countOwed = sql(
  "read.count-refreshes",
  "SELECT count(*) AS n FROM counterfoil_refreshes WHERE due_at IS NOT NULL",
);
const countFailed = sql(
  "read.count-failed-refreshes",
  "SELECT count(*) AS n FROM counterfoil_refreshes WHERE due_at IS NULL AND reason IS NOT NULL",
);

export function countRefreshes(handle: ReadHandle): RefreshCounts {
  const [owed, failed] = [countOwed, countFailed].map((count) => Number(handle.statement(count).get()?.["n"]));
  return { owed: owed ?? 0, failed: failed ?? 0, due: dueRefreshes(handle) };
}

// Index counterfoil_refreshes_due: what is further away stands at the end of its kind.
const clamp = sql("refresh.clamp", "UPDATE counterfoil_refreshes SET due_at = ?1 WHERE kind = ?2 AND due_at > ?1");

/** Brings due times that are further away back to an instant; gives how many. */
export function clampRefreshes(handle: Handle, latest: number): number {
  return kindsOf(handle).reduce((sum, { kind }) => sum + Number(handle.statement(clamp).run(latest, kind).changes), 0);
}
