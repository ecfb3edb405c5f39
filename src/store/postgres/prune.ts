/**
 * Retention, in batches. What hangs on an obligation is walked in the order in which obligations were
 * owed, from the oldest on that still has some: what is removed is not met again, what is open is passed
 * over, and a batch in which everything is younger ends the walk. So no index of ends is needed, which
 * each settled obligation would have to write.
 */
import { closedStates } from "../../domain/obligation.ts";
import type { PruneBatch, Pruned } from "../store.ts";
import type { Handle } from "./handle.ts";
import { expireBytes } from "./receipts.ts";
import { obligationTables } from "./rows.ts";
import { type Sql, sql } from "./statements.ts";

/** Removes or counts one batch. */
export async function prune(handle: Handle, batch: PruneBatch): Promise<Pruned> {
  if (batch.kind === "payloads") return prunePayloads(handle, batch);
  if (batch.kind === "refusals") return pruneRefusals(handle, batch);
  return pruneOwned(handle, batch, owned[batch.kind]);
}

// A range of index payloads_expiry.
const countExpired = sql(
  "prune.count-payloads",
  "SELECT count(*) AS count FROM counterfoil.payloads WHERE expire_at <= $1",
);

async function prunePayloads(handle: Handle, { limit, dryRun }: PruneBatch): Promise<Pruned> {
  if (dryRun) {
    const [counted] = await handle.run<{ count: number }>(countExpired, [handle.stamp.wallMs]);
    return { count: counted?.count ?? 0, next: null };
  }
  const count = await expireBytes(handle, limit);
  return { count, next: count < limit ? null : 0 };
}

interface Statements {
  /** Obligations behind one, with whether they may be old, and are. */
  readonly walk: Sql;
  readonly remove: Sql;
}

const closed = closedStates.map((state) => `'${state}'`).join(", ");

/** A hook that has to run, or has failed, reads what was owed. */
const isOver = "p.due_at IS NULL AND p.lease_until IS NULL AND (p.state IS NULL OR p.tries = 0)";

/** A table whose key begins with the obligation. */
function ownedBy(kind: string): Statements {
  return {
    walk: sql(
      `prune.walk-${kind}`,
      `WITH walked AS MATERIALIZED (
         SELECT DISTINCT obligation_id AS id FROM counterfoil.${kind} WHERE obligation_id > $2
         ORDER BY obligation_id LIMIT $3)
       SELECT o.id, o.created_at < $1 AS early,
         coalesce(o.updated_at, p.updated_at) < $1 AND coalesce(o.state, p.state) IN (${closed}) AND ${isOver} AS old
       FROM walked JOIN (${obligationTables}) ON o.id = walked.id`,
    ),
    remove: sql(`prune.${kind}`, `DELETE FROM counterfoil.${kind} WHERE obligation_id = ANY ($1::bigint[])`),
  };
}

const owned = {
  requests: ownedBy("requests"),
  answers: ownedBy("answers"),
  attempts: ownedBy("attempts"),
} as const;

interface WalkRow {
  readonly id: number;
  readonly early: boolean;
  readonly old: boolean;
}

async function pruneOwned(
  handle: Handle,
  { olderThanMs, after, limit, dryRun }: PruneBatch,
  { walk, remove }: Statements,
): Promise<Pruned> {
  const rows = await handle.run<WalkRow>(walk, [handle.stamp.wallMs - olderThanMs, after, limit]);
  const old = rows.filter((row) => row.old).map(({ id }) => id);
  if (!dryRun && old.length > 0) await handle.run(remove, [old]);
  // One row may carry a wrong clock's time; a batch of them does not.
  const goesOn = rows.length === limit && rows.some(({ early }) => early);
  return { count: old.length, next: goesOn ? Math.max(...rows.map(({ id }) => id)) : null };
}

const walkRefusals = sql(
  "prune.walk-refusals",
  "SELECT id, at < $1 AS old FROM counterfoil.refusals WHERE id > $2 ORDER BY id LIMIT $3",
);
const removeRefusals = sql("prune.refusals", "DELETE FROM counterfoil.refusals WHERE id = ANY ($1::bigint[])");

async function pruneRefusals(handle: Handle, batch: PruneBatch): Promise<Pruned> {
  const { olderThanMs, after, limit, dryRun } = batch;
  const before = handle.stamp.wallMs - olderThanMs;
  const rows = await handle.run<Omit<WalkRow, "early">>(walkRefusals, [before, after, limit]);
  const old = rows.filter((row) => row.old).map(({ id }) => id);
  if (!dryRun && old.length > 0) await handle.run(removeRefusals, [old]);
  const last = rows.at(-1);
  return { count: old.length, next: rows.length === limit && old.length > 0 && last ? last.id : null };
}
