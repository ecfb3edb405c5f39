/** What is due, and who is there to do it. */
import type { Instant } from "../../domain/instant.ts";
import type { DueWork, SeenWorker } from "../reader.ts";
import { callsIn, hooksIn } from "./claims.ts";
import type { ReadHandle } from "./handle.ts";
import { isPaused } from "./paused-connections.ts";
import { type Sql, sql } from "./statements.ts";

/** One seek for each lane, in the partial index of those that call or of those that run hooks; see claims. */
function laneStatement(calls: boolean): Sql {
  return sql(
    calls ? "read.lane" : "read.lane.hooks",
    `SELECT effect, destination, due_at${calls ? ", (SELECT paused_reason FROM counterfoil_destinations AS d WHERE d.destination = o.destination) AS paused" : ", NULL AS paused"}
     FROM counterfoil_obligations AS o
     WHERE due_at IS NOT NULL AND ${calls ? callsIn : hooksIn}
       AND (effect, destination, due_at) > (?, ?, ${Number.MAX_SAFE_INTEGER})
     ORDER BY effect, destination, due_at LIMIT 1`,
  );
}

const lanes = [laneStatement(true), laneStatement(false)] as const;

// The first entry of index counterfoil_receipts_due, behind those of paused connections.
const dueEvents = sql(
  "read.due-events",
  `SELECT due_at FROM counterfoil_receipts AS r INDEXED BY counterfoil_receipts_due
   WHERE due_at IS NOT NULL AND due_at <= ? AND NOT (${isPaused("r.connection")}) ORDER BY due_at LIMIT 1`,
);

// Index counterfoil_receipts_due, which holds the connection too.
const selectConnections = sql(
  "read.due-connections",
  `SELECT DISTINCT connection FROM counterfoil_receipts AS r INDEXED BY counterfoil_receipts_due
   WHERE due_at IS NOT NULL AND due_at <= ? AND connection NOT IN (SELECT value FROM json_each(?)) AND connection > ?
     AND NOT (${isPaused("r.connection")}) ORDER BY connection LIMIT +?`,
);

/** Connections of which an event is due, other than these, behind one. */
export function readDueConnections(
  handle: ReadHandle,
  { except, after, limit }: { readonly except: readonly string[]; readonly after: string; readonly limit: number },
): string[] {
  const rows = handle.statement(selectConnections).all(handle.stamp().wallMs, JSON.stringify(except), after, limit);
  return rows.map((row) => (row as { readonly connection: string }).connection);
}

interface LaneRow {
  readonly effect: string;
  readonly destination: string;
  readonly due_at: number;
  readonly paused: string | null;
}

/** The oldest due obligation of each effect, and the oldest due event. */
export function readDue(handle: ReadHandle): DueWork[] {
  const now = handle.stamp().wallMs;
  const oldest = new Map<string, Instant>();
  for (const lane of lanes) {
    const next = handle.statement(lane);
    let at = { effect: "", destination: "" };
    for (;;) {
      const row = next.get(at.effect, at.destination) as unknown as LaneRow | undefined;
      if (!row) break;
      at = row;
      if (row.due_at > now || row.paused !== null) continue;
      oldest.set(row.effect, Math.min(row.due_at, oldest.get(row.effect) ?? row.due_at));
    }
  }
  const event = handle.statement(dueEvents).get(now) as { readonly due_at: number } | undefined;
  const events = event ? [{ effect: null, at: event.due_at }] : [];
  return [...events, ...[...oldest].map(([effect, at]) => ({ effect, at }))];
}

const selectWorkers = sql(
  "read.workers",
  "SELECT name, effects, started_at, seen_at, stopped_at FROM counterfoil_workers ORDER BY seen_at DESC, name",
);

interface WorkerRow {
  readonly name: string;
  readonly effects: string;
  readonly started_at: number;
  readonly seen_at: number;
  readonly stopped_at: number | null;
}

/** Workers as they told of themselves, the last first. */
export function readWorkers(handle: ReadHandle): SeenWorker[] {
  return handle
    .statement(selectWorkers)
    .all()
    .map((row) => {
      const {
        name,
        effects,
        started_at: startedAt,
        seen_at: seenAt,
        stopped_at: stoppedAt,
      } = row as unknown as WorkerRow;
      return { name, effects: JSON.parse(effects) as string[], startedAt, seenAt, stoppedAt };
    });
}
