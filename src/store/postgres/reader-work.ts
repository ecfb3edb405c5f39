/** What is due, and who is there to do it. */
import type { DueWork, SeenWorker } from "../reader.ts";
import type { ReadHandle } from "./handle.ts";
import { callable, laneWalk } from "./lanes.ts";
import { isPaused } from "./paused-connections.ts";
import { binaryArray } from "./relation.ts";
import { sql } from "./statements.ts";

// The first entry of index receipts_due behind those of paused connections, and one entry of progress_due for each lane.
const selectDue = sql(
  "read.due",
  `WITH RECURSIVE ${laneWalk}
   (SELECT NULL AS effect, due_at AS at FROM counterfoil.receipts AS r
    WHERE due_at <= $1 AND NOT ${isPaused("r.connection")} ORDER BY due_at LIMIT 1)
   UNION ALL
   SELECT l.effect, min(l.due_at) FROM lane AS l WHERE l.due_at <= $1 AND ${callable("l")} GROUP BY l.effect`,
);

/** The oldest due obligation of each effect, and the oldest due event. */
export function readDue(handle: ReadHandle): Promise<readonly DueWork[]> {
  return handle.run<DueWork>(selectDue, [handle.now]);
}

// Index receipts_due, by instant.
const selectConnections = sql(
  "read.due-connections",
  `SELECT DISTINCT connection FROM counterfoil.receipts AS r
   WHERE due_at <= $1 AND connection <> ALL ($2::text[]) AND connection > $3 AND NOT ${isPaused("r.connection")}
   ORDER BY connection LIMIT $4`,
);

/** Connections of which an event is due, other than these, behind one. */
export async function readDueConnections(
  handle: ReadHandle,
  { except, after, limit }: { readonly except: readonly string[]; readonly after: string; readonly limit: number },
): Promise<string[]> {
  const rows = await handle.run<{ readonly connection: string }>(selectConnections, [
    handle.now,
    binaryArray("text", except),
    after,
    limit,
  ]);
  return rows.map(({ connection }) => connection);
}

const selectWorkers = sql(
  "read.workers",
  "SELECT name, effects, started_at, seen_at, stopped_at FROM counterfoil.workers ORDER BY seen_at DESC, name",
);

interface WorkerRow {
  readonly name: string;
  readonly effects: string;
  readonly started_at: number;
  readonly seen_at: number;
  readonly stopped_at: number | null;
}

/** Workers as they told of themselves, the last first. */
export async function readWorkers(handle: ReadHandle): Promise<SeenWorker[]> {
  const rows = await handle.run<WorkerRow>(selectWorkers, []);
  return rows.map(({ name, effects, started_at: startedAt, seen_at: seenAt, stopped_at: stoppedAt }) => {
    return { name, effects: JSON.parse(effects) as string[], startedAt, seenAt, stoppedAt };
  });
}
