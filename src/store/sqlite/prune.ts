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
import { type Sql, sql } from "./statements.ts";

/** Removes or counts one batch. */
export function prune(handle: Handle, batch: PruneBatch): Pruned {
  if (batch.kind === "payloads") return prunePayloads(handle, batch);
  if (batch.kind === "refusals") return pruneRefusals(handle, batch);
  return pruneOwned(handle, batch, owned[batch.kind]);
}

// A range of index counterfoil_payloads_expiry.
const countExpired = sql(
  "prune.count-payloads",
  "SELECT count(*) AS count FROM counterfoil_payloads WHERE expire_at IS NOT NULL AND expire_at <= ?",
);

function prunePayloads(handle: Handle, { limit, dryRun }: PruneBatch): Pruned {
  if (dryRun) {
    const { count } = handle.statement(countExpired).get(handle.stamp.wallMs) as { readonly count: number };
    return { count, next: null };
  }
  const count = expireBytes(handle, limit);
  return { count, next: count < limit ? null : 0 };
}

interface Statements {
  /** Obligations behind one, with whether they may be old, and are. */
  readonly walk: Sql;
  readonly remove: Sql;
}

const closed = closedStates.map((state) => `'${state}'`).join(", ");

/** A hook that has to run, or has failed, reads what was owed. */
const isOver = "o.due_at IS NULL AND o.lease_boot IS NULL AND (o.state = 'done' OR o.tries = 0)";

/** A table whose key begins with the obligation. */
function ownedBy(kind: string, table: string): Statements {
  return {
    walk: sql(
      `prune.walk-${kind}`,
      `SELECT p.id, o.created_at < ?1 AS early, o.updated_at < ?1 AND o.state IN (${closed}) AND ${isOver} AS old
       FROM (SELECT DISTINCT obligation_id AS id FROM ${table} WHERE obligation_id > ?2
             ORDER BY obligation_id LIMIT +?3) AS p
       CROSS JOIN counterfoil_obligations AS o ON o.id = p.id`,
    ),
    remove: sql(`prune.${kind}`, `DELETE FROM ${table} WHERE obligation_id = ?`),
  };
}

const owned = {
  requests: ownedBy("requests", "counterfoil_requests"),
  answers: ownedBy("answers", "counterfoil_answers"),
  attempts: ownedBy("attempts", "counterfoil_attempts"),
} as const;

interface WalkRow {
  readonly id: number;
  readonly early: number;
  readonly old: number;
}

function pruneOwned(
  handle: Handle,
  { olderThanMs, after, limit, dryRun }: PruneBatch,
  { walk, remove }: Statements,
): Pruned {
  const rows = handle.statement(walk).all(handle.stamp.wallMs - olderThanMs, after, limit) as unknown as WalkRow[];
  const old = rows.filter((row) => row.old === 1);
  if (!dryRun) for (const { id } of old) handle.statement(remove).run(id);
  // One row may carry a wrong clock's time; a batch of them does not.
  const goesOn = rows.length === limit && rows.some((row) => row.early === 1);
  return { count: old.length, next: goesOn ? Math.max(...rows.map(({ id }) => id)) : null };
}

const walkRefusals = sql(
  "prune.walk-refusals",
  "SELECT id, at < ?1 AS old FROM counterfoil_refusals WHERE id > ?2 ORDER BY id LIMIT +?3",
);
const removeRefusal = sql("prune.refusal", "DELETE FROM counterfoil_refusals WHERE id = ?");

function pruneRefusals(handle: Handle, { olderThanMs, after, limit, dryRun }: PruneBatch): Pruned {
  const before = handle.stamp.wallMs - olderThanMs;
  const rows = handle.statement(walkRefusals).all(before, after, limit) as unknown as Omit<WalkRow, "early">[];
  const old = rows.filter((row) => row.old === 1);
  if (!dryRun) for (const { id } of old) handle.statement(removeRefusal).run(id);
  const last = rows.at(-1);
  return { count: old.length, next: rows.length === limit && old.length > 0 && last ? last.id : null };
}
