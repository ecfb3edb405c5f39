/** What a worker does rarely: tells that it is here, and mends due times that a clock put out of reach. */
import type { DueBounds, WorkerSign } from "../store.ts";
import type { Handle } from "./handle.ts";
import { laneWalk } from "./lanes.ts";
import { clampRefreshes } from "./refreshes.ts";
import { relation } from "./relation.ts";
import { sql } from "./statements.ts";
import { plain } from "./values.ts";

// A scan of a table that has one row for each start of a worker in a day; others' locks are passed by.
const forget = sql(
  "worker.forget",
  `DELETE FROM counterfoil.workers WHERE name IN (
     SELECT name FROM counterfoil.workers WHERE seen_at < $1 FOR UPDATE SKIP LOCKED)`,
);

const seen = sql(
  "worker.seen",
  `INSERT INTO counterfoil.workers (name, effects, started_at, seen_at) VALUES ($1, $2, $3, $3)
   ON CONFLICT (name) DO UPDATE SET effects = excluded.effects, seen_at = excluded.seen_at, stopped_at = NULL`,
);

/** Notes that a worker is here now, and forgets those that have long been gone. */
export async function seeWorker(handle: Handle, { name, effects, forgetMs }: WorkerSign): Promise<void> {
  const { wallMs } = handle.stamp;
  await handle.run(forget, [wallMs - forgetMs]);
  await handle.run(seen, [plain(name), JSON.stringify(effects), wallMs]);
}

const stopped = sql("worker.left", "UPDATE counterfoil.workers SET stopped_at = $2 WHERE name = $1");

/** Notes that a worker ended in order. */
export async function leaveWorker(handle: Handle, name: string): Promise<void> {
  await handle.run(stopped, [plain(name), handle.stamp.wallMs]);
}

// Indexes receipts_due and receipts_deadline: what is further away stands at their end. Whoever holds a
// row now writes its next due time itself.
const clampReceipts = sql(
  "receipt.clamp",
  `WITH far AS MATERIALIZED (
     SELECT id FROM counterfoil.receipts WHERE due_at > $1 ORDER BY id FOR UPDATE SKIP LOCKED)
   UPDATE counterfoil.receipts AS r SET due_at = $1 FROM far WHERE r.id = far.id RETURNING r.id`,
);
const clampDeadlines = sql(
  "receipt.clamp-deadline",
  `WITH far AS MATERIALIZED (
     SELECT id FROM counterfoil.receipts WHERE deadline_at > $1 ORDER BY id FOR UPDATE SKIP LOCKED)
   UPDATE counterfoil.receipts AS r SET deadline_at = $1 FROM far WHERE r.id = far.id RETURNING r.id`,
);

const latest = relation("b", { effect: "text", at: "int8" });

/** Rows of a lane that are brought back at a time; the next call goes on. */
const clampMax = 1_000;

// Index progress_due: what is further away stands at the end of its lane.
const findFar = sql(
  "obligation.far",
  `WITH RECURSIVE ${laneWalk},
   bound AS MATERIALIZED (
     SELECT l.hook, l.effect, l.destination, b.at FROM ${latest.from} JOIN lane AS l ON l.effect = b.effect)
   SELECT f.obligation_id AS id, b.at FROM bound AS b CROSS JOIN LATERAL (
     SELECT p.obligation_id FROM counterfoil.progress AS p
     WHERE p.hook = b.hook AND p.effect = b.effect AND p.destination = b.destination AND p.due_at > b.at
       AND (p.not_before IS NULL OR p.due_at > p.not_before)
     ORDER BY p.due_at, p.obligation_id LIMIT ${clampMax} FOR UPDATE SKIP LOCKED) AS f`,
);

const far = relation("f", { id: "int8", at: "int8" });

const clampObligations = sql(
  "obligation.clamp",
  `UPDATE counterfoil.progress AS p SET due_at = greatest(f.at, p.not_before) FROM ${far.from} WHERE p.obligation_id = f.id
   RETURNING p.obligation_id`,
);

/** Brings due times and deadlines that are further away than their bound back to it; gives how many. */
export async function clampDue(handle: Handle, bounds: DueBounds): Promise<number> {
  const { wallMs } = handle.stamp;
  const effects = bounds.obligations.map(({ effect, withinMs }) => ({ effect, at: wallMs + withinMs }));
  const found = await handle.run<{ id: number; at: number }>(findFar, latest.values(effects));
  const clamped = [
    await handle.run(clampReceipts, [wallMs + bounds.receiptsMs]),
    await handle.run(clampDeadlines, [wallMs + bounds.deadlinesMs]),
    found.length > 0 ? await handle.run(clampObligations, far.values(found)) : [],
  ];
  const refreshes = await clampRefreshes(handle, wallMs + bounds.refreshesMs);
  return clamped.reduce((sum, { length }) => sum + length, refreshes);
}
