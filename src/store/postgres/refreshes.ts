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
import { unknownRevision } from "../store.ts";
import type { Handle, ReadHandle } from "./handle.ts";
import { relation } from "./relation.ts";
import { sql } from "./statements.ts";
import { plain } from "./values.ts";

const drafts = relation("d", { connection: "text", account: "text", kind: "text", id: "text", tenant: "text" }, 1);

// One that waits keeps its time, which a source may have asked for; one that had failed for good begins
// anew. In the order of the key, so that two transactions wait for each other, never both at once.
const want = sql(
  "refresh.want",
  `INSERT INTO counterfoil.refreshes AS r (connection, account, kind, id, tenant, ticket, again, tries, due_at, updated_at)
   SELECT DISTINCT ON (connection COLLATE "C", account COLLATE "C", kind COLLATE "C", id COLLATE "C")
     connection, account, kind, id, tenant, 0, false, 0, $1::bigint, $1::bigint
   FROM ${drafts.from} ORDER BY connection COLLATE "C", account COLLATE "C", kind COLLATE "C", id COLLATE "C"
   ON CONFLICT (connection, account, kind, id) DO UPDATE
   SET again = r.lease_until IS NOT NULL, tries = CASE WHEN r.due_at IS NULL THEN 0 ELSE r.tries END,
     due_at = coalesce(r.due_at, $1), reason = CASE WHEN r.due_at IS NULL THEN NULL ELSE r.reason END, updated_at = $1`,
);

/** Owes refreshes. */
export async function wantRefreshes(handle: Handle, given: readonly RefreshDraft[]): Promise<void> {
  if (given.length === 0) return;
  await handle.run(want, [handle.stamp.wallMs, ...drafts.values(given)]);
  handle.say({ arrived: true });
}

const columns = "r.connection, r.account, r.kind, r.id, r.tenant, r.ticket, r.tries";

// Index refreshes_due. Others' locks are passed by.
const claim = sql(
  "refresh.claim",
  `WITH due AS MATERIALIZED (
     SELECT connection, account, kind, id FROM counterfoil.refreshes
     WHERE kind = $1 AND due_at <= $2 ORDER BY due_at LIMIT $4::int FOR UPDATE SKIP LOCKED)
   UPDATE counterfoil.refreshes AS r SET ticket = r.ticket + 1, again = false, due_at = $3, lease_until = $3, updated_at = $2
   FROM due WHERE r.connection = due.connection AND r.account = due.account AND r.kind = due.kind AND r.id = due.id
   RETURNING ${columns}, coalesce((SELECT nullif(s.revision, '-Infinity')::text FROM counterfoil.snapshots AS s
     WHERE s.connection = r.connection AND s.account = r.account AND s.kind = r.kind AND s.id = r.id),
     '${unknownRevision}') AS kept`,
);

/** Claims what is due of a kind. */
export async function claimRefreshes(
  handle: Handle,
  { kind, limit, leaseMs }: { readonly kind: string; readonly limit: number; readonly leaseMs: number },
): Promise<readonly ClaimedRefresh[]> {
  const { wallMs } = handle.stamp;
  return handle.run<ClaimedRefresh>(claim, [kind, wallMs, wallMs + leaseMs, limit]);
}

const end = sql(
  "refresh.end",
  `UPDATE counterfoil.refreshes AS r SET tries = $1,
     due_at = CASE WHEN r.again AND $2::text IS NULL THEN $4 ELSE $3::bigint END, reason = $2,
     again = false, lease_until = NULL, updated_at = $4
   WHERE connection = $5 AND account = $6 AND kind = $7 AND id = $8 AND ticket = $9 AND lease_until IS NOT NULL
   RETURNING 1`,
);

/** Ends a refresh; `false` where a later ticket was taken. */
export async function endRefresh(handle: Handle, ended: RefreshEnd): Promise<boolean> {
  const { connection, account, kind, id, ticket, tries, dueAt, reason } = ended;
  const key = [connection, account, kind, id, ticket];
  return (await handle.run(end, [tries, plain(reason), dueAt, handle.stamp.wallMs, ...key])).length === 1;
}

const drop = sql(
  "refresh.drop",
  `UPDATE counterfoil.refreshes SET due_at = NULL, reason = NULL, again = false, tries = 0, lease_until = NULL, updated_at = $1
   WHERE connection = $2 AND account = $3 AND kind = $4 AND id = $5 AND ticket = $6 AND updated_at = $7
     AND (due_at IS NOT NULL OR reason IS NOT NULL) AND (lease_until IS NULL OR lease_until <= $1)
   RETURNING 1`,
);

/** Takes back a refresh; `false` where it runs, or is not as it was read. */
export async function dropRefresh(handle: Handle, refresh: Refresh): Promise<boolean> {
  const { connection, account, kind, id, ticket, updatedAt } = refresh;
  const key = [connection, account, kind, id, ticket, updatedAt];
  return (await handle.run(drop, [handle.stamp.wallMs, ...key])).length === 1;
}

// Index refreshes_failed.
const failed = sql(
  "read.failed-refreshes",
  `SELECT ${columns}, r.due_at, r.lease_until, r.reason, r.updated_at FROM counterfoil.refreshes AS r
   WHERE r.due_at IS NULL AND r.reason IS NOT NULL AND (r.connection, r.account, r.kind, r.id) > ($1, $2, $3, $4)
   ORDER BY r.connection, r.account, r.kind, r.id LIMIT $5`,
);

/** Refreshes that failed for good, behind a key. */
export async function failedRefreshes(
  handle: ReadHandle,
  after: readonly (string | number)[],
  limit: number,
): Promise<Refresh[]> {
  return (await handle.run<RefreshRow>(failed, [...after, limit])).map(toRefresh);
}

const one = sql(
  "read.refresh",
  `SELECT ${columns}, r.due_at, r.lease_until, r.reason, r.updated_at FROM counterfoil.refreshes AS r
   WHERE r.connection = $1 AND r.account = $2 AND r.kind = $3 AND r.id = $4`,
);

/** One refresh. */
export async function readRefresh(
  handle: ReadHandle,
  { connection, account, kind, id }: Omit<RefreshDraft, "tenant">,
): Promise<Refresh | undefined> {
  const [row] = await handle.run<RefreshRow>(one, [connection, account, kind, id]);
  return row && toRefresh(row);
}

// There are as many as sources that are not asked yet; the answer needs an order that no index of theirs has.
const list = sql(
  "read.refreshes",
  `SELECT ${columns}, r.due_at, r.lease_until, r.reason, r.updated_at FROM counterfoil.refreshes AS r
   WHERE (r.due_at IS NOT NULL OR (r.due_at IS NULL AND r.reason IS NOT NULL))
     AND (r.connection, r.account, r.kind, r.id) > ($1, $2, $3, $4) AND ($5::text IS NULL OR r.connection = $5)
   ORDER BY r.connection, r.account, r.kind, r.id LIMIT $6`,
);

/** Refreshes that are waiting or running, or have failed for good. */
export async function listRefreshes(
  handle: ReadHandle,
  { connection = null }: { readonly connection?: string | null | undefined },
  { after, limit }: RefreshPage,
): Promise<ListedRefresh[]> {
  const rows = await handle.run<RefreshRow>(list, [...placeAfter(after), connection, limit]);
  return rows.map((row) => listedRefresh(toRefresh(row)));
}

// Index refreshes_due: one seek for each kind, which gives the earliest of it.
const kindWalk = `kinds AS (
    (SELECT kind, due_at FROM counterfoil.refreshes WHERE due_at IS NOT NULL ORDER BY kind, due_at LIMIT 1)
    UNION ALL
    SELECT next.kind, next.due_at FROM kinds CROSS JOIN LATERAL (
      SELECT r.kind, r.due_at FROM counterfoil.refreshes AS r
      WHERE r.due_at IS NOT NULL AND r.kind > kinds.kind ORDER BY r.kind, r.due_at LIMIT 1) AS next)`;

const selectDue = sql(
  "read.due-refreshes",
  `WITH RECURSIVE ${kindWalk} SELECT kind, due_at AS at FROM kinds WHERE due_at <= $1 ORDER BY kind`,
);

/** Kinds with something due now, and since when, by name. */
export function dueRefreshes(handle: ReadHandle): Promise<RefreshCounts["due"]> {
  return handle.run<RefreshCounts["due"][number]>(selectDue, [handle.now]);
}

const countAll = sql(
  "read.count-refreshes",
  `SELECT (SELECT count(*) FROM counterfoil.refreshes WHERE due_at IS NOT NULL) AS owed,
     (SELECT count(*) FROM counterfoil.refreshes WHERE due_at IS NULL AND reason IS NOT NULL) AS failed`,
);

export async function countRefreshes(handle: ReadHandle): Promise<RefreshCounts> {
  const [counted] = await handle.run<{ readonly owed: number; readonly failed: number }>(countAll, []);
  return { owed: counted?.owed ?? 0, failed: counted?.failed ?? 0, due: await dueRefreshes(handle) };
}

// Index refreshes_due: what is further away stands at the end of its kind. Whoever holds a row now writes
// its next due time itself.
const clamp = sql(
  "refresh.clamp",
  `WITH RECURSIVE ${kindWalk},
   far AS MATERIALIZED (
     SELECT r.connection, r.account, r.kind, r.id FROM counterfoil.refreshes AS r
     WHERE r.kind IN (SELECT kind FROM kinds) AND r.due_at > $1
     ORDER BY r.connection, r.account, r.kind, r.id FOR UPDATE OF r SKIP LOCKED)
   UPDATE counterfoil.refreshes AS r SET due_at = $1 FROM far
   WHERE r.connection = far.connection AND r.account = far.account AND r.kind = far.kind AND r.id = far.id RETURNING 1`,
);

/** Brings due times that are further away back to an instant; gives how many. */
export async function clampRefreshes(handle: Handle, latest: number): Promise<number> {
  return (await handle.run(clamp, [latest])).length;
}
