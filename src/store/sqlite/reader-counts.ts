/** Totals. */
import type { Counts, LogSize } from "../reader.ts";
import type { ReadHandle } from "./handle.ts";
import { pausedConnections } from "./paused-connections.ts";
import { readDue, readWorkers } from "./reader-work.ts";
import { countRefreshes } from "./refreshes.ts";
import { sql, type Sql } from "./statements.ts";

/** Rows that are counted one by one at most: a look must not hold up the thread that receives. */
const exactMax = 1_000_000;

/**
 * Counting a whole table walks the pages of its narrowest index, which is done while that is quick. Beyond, the
 * highest id is the answer: ids are given in order and hardly any row of these tables is ever removed.
 */
function countOf(table: string): string {
  return `SELECT CASE WHEN highest > ${exactMax} THEN highest ELSE (SELECT count(*) FROM ${table}) END AS count
    FROM (SELECT max(rowid) AS highest FROM ${table})`;
}

// What is left out of the partial indexes (applied, done) is the rest.
const countReceipts = sql("read.count-receipts", countOf("counterfoil_receipts"));
const countOutcomes = sql(
  "read.count-outcomes",
  "SELECT outcome AS name, count(*) AS count FROM counterfoil_receipts WHERE outcome <> 'applied' GROUP BY outcome",
);
const countObligations = sql("read.count-obligations", countOf("counterfoil_obligations"));
const countStates = sql(
  "read.count-states",
  "SELECT state AS name, count(*) AS count FROM counterfoil_obligations WHERE state <> 'done' GROUP BY state",
);
const countMismatches = sql("read.count-mismatches", countOf("counterfoil_mismatches"));
const countRefusals = sql(
  "read.count-refusals",
  "SELECT cause AS name, count(*) AS count FROM counterfoil_refusals GROUP BY cause",
);
const totalRedeliveries = sql(
  "read.redeliveries-total",
  "SELECT value AS count FROM counterfoil_totals WHERE name = 'redeliveries'",
);
// One seek for each open state: ids are given in order of creation.
const oldestOwed = sql(
  "read.oldest-owed",
  `SELECT min((SELECT o.created_at FROM counterfoil_obligations AS o
               WHERE o.state <> 'done' AND o.state = open.value ORDER BY o.id LIMIT 1)) AS at
   FROM json_each('["owed","sending","uncertain","settling","stuck"]') AS open`,
);
const selectPaused = sql(
  "read.paused",
  `SELECT destination, paused_reason AS reason FROM counterfoil_destinations
   WHERE paused_reason IS NOT NULL ORDER BY destination`,
);

const measureLog = sql("read.log", "PRAGMA wal_checkpoint(NOOP)");
const pageSize = sql("read.page-size", "PRAGMA page_size");

export function readCounts(handle: ReadHandle): Counts {
  const log = readLog(handle);
  const one = (definition: Sql): number => Number(handle.statement(definition).get()?.["count"] ?? 0);
  const byName = (definition: Sql): Record<string, number> => {
    const rows = handle.statement(definition).all() as { name: string; count: number }[];
    return Object.fromEntries(rows.map(({ name, count }) => [name, count]));
  };
  const receipts = one(countReceipts);
  const oldest = handle.statement(oldestOwed).get() as { readonly at: number | null };
  return {
    receipts: withRest(byName(countOutcomes), "applied", receipts),
    obligations: withRest(byName(countStates), "done", one(countObligations)),
    deliveries: receipts + one(totalRedeliveries),
    mismatches: one(countMismatches),
    refusals: byName(countRefusals),
    oldestOwedAt: oldest.at,
    pausedConnections: pausedConnections(handle),
    pausedDestinations: pausedDestinations(handle),
    due: readDue(handle),
    refreshes: countRefreshes(handle),
    workers: readWorkers(handle),
    ...(log && { log }),
    now: handle.stamp().wallMs,
  };
}

/** Comes before all else that a transaction reads: a look at the log is refused from then on. */
function readLog(handle: ReadHandle): LogSize | undefined {
  const { log: pages, checkpointed } = handle.statement(measureLog).get() as unknown as LogRow;
  if (pages < 0) return undefined;
  const { page_size: pageBytes } = handle.statement(pageSize).get() as unknown as { readonly page_size: number };
  return { bytes: pages * pageBytes, uncopiedBytes: Math.max(0, pages - checkpointed) * pageBytes };
}

/** Pages in the log and how many of them are copied; -1 where there is no log. */
interface LogRow {
  readonly log: number;
  readonly checkpointed: number;
}

function withRest(counts: Record<string, number>, name: string, total: number): Record<string, number> {
  const rest = total - Object.values(counts).reduce((sum, count) => sum + count, 0);
  return rest > 0 ? { ...counts, [name]: rest } : counts;
}

export function pausedDestinations(handle: ReadHandle): Counts["pausedDestinations"] {
  return handle.statement(selectPaused).all() as unknown as Counts["pausedDestinations"];
}
