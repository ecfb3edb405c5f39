/** Totals. */
import type { Counts } from "../reader.ts";
import type { ReadHandle } from "./handle.ts";
import { pausedConnections } from "./paused-connections.ts";
import { readDeadRows } from "./reader-dead-rows.ts";
import { readDue, readWorkers } from "./reader-work.ts";
import { countRefreshes } from "./refreshes.ts";
import { sql, type Sql } from "./statements.ts";

/** Rows that are counted one by one at most: more would take longer than a look should, and hold an old state meanwhile. */
const exactMax = 1_000_000;

// What is left out of the partial index on outcomes is applied, what is left out of progress is done:
// the rest of the whole, which is counted in the primary key without reading a row.
const countReceipts = sql("read.count-receipts", countOf("receipts"));
const countOutcomes = sql(
  "read.count-outcomes",
  "SELECT outcome AS name, count(*) AS count FROM counterfoil.receipts WHERE outcome <> 'applied' GROUP BY outcome",
);
const countObligations = sql("read.count-obligations", countOf("obligations"));
const countStates = sql(
  "read.count-states",
  "SELECT state AS name, count(*) AS count FROM counterfoil.progress GROUP BY state",
);
const countRedeliveries = sql(
  "read.count-redeliveries",
  `SELECT CASE WHEN rows > ${exactMax}
       THEN (rows * (SELECT coalesce(avg(times), 1) FROM counterfoil.redelivered TABLESAMPLE SYSTEM (0.1)))::bigint
       ELSE (SELECT coalesce(sum(times), 0)::bigint FROM counterfoil.redelivered) END AS count
   FROM ${plannerRows("redelivered")}`,
);
const countMismatches = sql("read.count-mismatches", countOf("mismatches"));
const countRefusals = sql(
  "read.count-refusals",
  "SELECT cause AS name, count(*) AS count FROM counterfoil.refusals GROUP BY cause",
);
// Ids are given in order of creation.
const oldestOwed = sql(
  "read.oldest-owed",
  `SELECT created_at AS at FROM counterfoil.obligations WHERE id = (
     SELECT obligation_id FROM counterfoil.progress WHERE state NOT IN ('withdrawn', 'cancelled')
     ORDER BY obligation_id LIMIT 1)`,
);
const selectPaused = sql(
  "read.paused",
  `SELECT destination, paused_reason AS reason FROM counterfoil.destinations
   WHERE paused_reason IS NOT NULL ORDER BY destination`,
);

/** What the planner takes a table's rows for: the last vacuum's or analysis' word, some percent off; -1 before the first. */
function plannerRows(table: string): string {
  return `(SELECT reltuples::bigint AS rows FROM pg_class WHERE oid = 'counterfoil.${table}'::regclass) AS planner`;
}

/** Counts one by one while that is quick. */
function countOf(table: string): string {
  return `SELECT CASE WHEN rows > ${exactMax} THEN rows ELSE (SELECT count(*) FROM counterfoil.${table}) END AS count
    FROM ${plannerRows(table)}`;
}

export async function readCounts(handle: ReadHandle): Promise<Counts> {
  const one = async (definition: Sql): Promise<number> =>
    (await handle.run<{ count: number }>(definition, []))[0]?.count ?? 0;
  const byName = async (definition: Sql): Promise<Record<string, number>> => {
    const rows = await handle.run<{ name: string; count: number }>(definition, []);
    return Object.fromEntries(rows.map(({ name, count }) => [name, count]));
  };
  const receipts = await one(countReceipts);
  const [oldest] = await handle.run<{ at: number }>(oldestOwed, []);
  return {
    receipts: withRest(await byName(countOutcomes), "applied", receipts),
    obligations: withRest(await byName(countStates), "done", await one(countObligations)),
    deliveries: receipts + (await one(countRedeliveries)),
    mismatches: await one(countMismatches),
    refusals: await byName(countRefusals),
    oldestOwedAt: oldest?.at ?? null,
    pausedConnections: await pausedConnections(handle),
    pausedDestinations: await pausedDestinations(handle),
    due: await readDue(handle),
    refreshes: await countRefreshes(handle),
    workers: await readWorkers(handle),
    deadRows: await readDeadRows(handle),
    now: handle.now,
  };
}

function withRest(counts: Record<string, number>, name: string, total: number): Record<string, number> {
  const rest = total - Object.values(counts).reduce((sum, count) => sum + count, 0);
  return rest > 0 ? { ...counts, [name]: rest + (counts[name] ?? 0) } : counts;
}

export async function pausedDestinations(handle: ReadHandle): Promise<Counts["pausedDestinations"]> {
  return handle.run<Counts["pausedDestinations"][number]>(selectPaused, []);
}
