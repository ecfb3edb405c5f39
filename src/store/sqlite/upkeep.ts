/** What a worker does rarely: tells that it is here, and mends due times that a wall clock put out of reach. */
import type { DueBounds, WorkerSign } from "../store.ts";
import { callsIn, hooksIn } from "./claims.ts";
import type { Handle } from "./handle.ts";
import { clampRefreshes } from "./refreshes.ts";
import { type Sql, sql } from "./statements.ts";

const seen = sql(
  "worker.seen",
  `INSERT INTO counterfoil_workers (name, effects, started_at, seen_at) VALUES (?1, ?2, ?3, ?3)
   ON CONFLICT (name) DO UPDATE SET effects = excluded.effects, seen_at = excluded.seen_at, stopped_at = NULL`,
);

// A scan of a table that has one row for each start of a worker in a day.
const forget = sql("worker.forget", "DELETE FROM counterfoil_workers WHERE seen_at < ?");

/** Notes that a worker is here now, and forgets those that have long been gone. */
export function seeWorker(handle: Handle, { name, effects, forgetMs }: WorkerSign): void {
  const { wallMs } = handle.stamp;
  handle.statement(forget).run(wallMs - forgetMs);
  handle.statement(seen).run(name, JSON.stringify(effects), wallMs);
}

const stopped = sql("worker.left", "UPDATE counterfoil_workers SET stopped_at = ?2 WHERE name = ?1");

/** Notes that a worker ended in order. */
export function leaveWorker(handle: Handle, name: string): void {
  handle.statement(stopped).run(name, handle.stamp.wallMs);
}

// Indexes counterfoil_receipts_due and counterfoil_receipts_deadline: what is further away stands at their end.
const clampReceipts = sql("receipt.clamp", "UPDATE counterfoil_receipts SET due_at = ?1 WHERE due_at > ?1");
const clampDeadlines = sql(
  "receipt.clamp-deadline",
  "UPDATE counterfoil_receipts SET deadline_at = ?1 WHERE deadline_at > ?1",
);

/** The obligations that call, or those that run hooks, by the partial index of each; see claims. */
function clampStatements(calls: boolean): { readonly furthest: Sql; readonly clamp: Sql } {
  const due = `due_at IS NOT NULL AND ${calls ? callsIn : hooksIn}`;
  return {
    // From the last destination to the first, one seek each: the row found is the lane's furthest.
    furthest: sql(
      calls ? "obligation.furthest" : "obligation.furthest.hooks",
      `SELECT destination, due_at FROM counterfoil_obligations WHERE ${due} AND effect = ? AND destination < ?
       ORDER BY destination DESC, due_at DESC LIMIT 1`,
    ),
    clamp: sql(
      calls ? "obligation.clamp" : "obligation.clamp.hooks",
      `UPDATE counterfoil_obligations SET due_at = max(?1, coalesce(not_before, ?1))
       WHERE ${due} AND effect = ?2 AND destination = ?3 AND due_at > ?1 AND due_at > coalesce(not_before, ?1)`,
    ),
  };
}

const calling = clampStatements(true);
const hooks = clampStatements(false);

/** Brings due times and deadlines that are further away than their bound back to it; gives how many. */
export function clampDue(handle: Handle, { receiptsMs, deadlinesMs, refreshesMs, obligations }: DueBounds): number {
  const { wallMs } = handle.stamp;
  let clamped = Number(handle.statement(clampReceipts).run(wallMs + receiptsMs).changes);
  clamped += Number(handle.statement(clampDeadlines).run(wallMs + deadlinesMs).changes);
  clamped += clampRefreshes(handle, wallMs + refreshesMs);
  for (const { effect, withinMs } of obligations) {
    for (const statements of [calling, hooks]) {
      clamped += clampLanes(handle, statements, { effect, latest: wallMs + withinMs });
    }
  }
  return clamped;
}

/** No byte of UTF-8 text sorts after the last code point. */
const pastAll = "\u{10FFFF}";

function clampLanes(
  handle: Handle,
  { furthest, clamp }: ReturnType<typeof clampStatements>,
  { effect, latest }: { readonly effect: string; readonly latest: number },
): number {
  let clamped = 0;
  let destination = pastAll;
  for (;;) {
    const lane = handle.statement(furthest).get(effect, destination) as FurthestRow | undefined;
    if (!lane) return clamped;
    ({ destination } = lane);
    if (lane.due_at > latest) clamped += Number(handle.statement(clamp).run(latest, effect, destination).changes);
  }
}

interface FurthestRow {
  readonly destination: string;
  readonly due_at: number;
}
