/** Totals, and what only an operator can decide. */
import { fairShare } from "../fair-share.ts";
import type { Attention, Counts } from "../reader.ts";
import { toObligation, toReceipt, type ObligationRow, type ReceiptRow } from "../rows.ts";
import type { ReadHandle } from "./handle.ts";
import { obligationColumns, receiptColumns } from "./rows.ts";
import { sql, type Sql } from "./statements.ts";

// Counting a whole table walks the pages of its narrowest index without reading an entry; what is left
// out of the partial indexes (applied, done) is the rest.
const countReceipts = sql("read.count-receipts", "SELECT count(*) AS count FROM counterfoil_receipts");
const countOutcomes = sql(
  "read.count-outcomes",
  "SELECT outcome AS name, count(*) AS count FROM counterfoil_receipts WHERE outcome <> 'applied' GROUP BY outcome",
);
const countObligations = sql("read.count-obligations", "SELECT count(*) AS count FROM counterfoil_obligations");
const countStates = sql(
  "read.count-states",
  "SELECT state AS name, count(*) AS count FROM counterfoil_obligations WHERE state <> 'done' GROUP BY state",
);
const countMismatches = sql("read.count-mismatches", "SELECT count(*) AS count FROM counterfoil_mismatches");
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

export function readCounts(handle: ReadHandle): Counts {
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
    pausedDestinations: pausedDestinations(handle),
    now: handle.stamp().wallMs,
  };
}

function withRest(counts: Record<string, number>, name: string, total: number): Record<string, number> {
  const rest = total - Object.values(counts).reduce((sum, count) => sum + count, 0);
  return rest > 0 ? { ...counts, [name]: rest } : counts;
}

export function pausedDestinations(handle: ReadHandle): Counts["pausedDestinations"] {
  return handle.statement(selectPaused).all() as unknown as Counts["pausedDestinations"];
}

// Index counterfoil_obligations_attention. A row without due time and lease moves by nobody but an operator.
const stuckObligations = sql(
  "read.attention-obligations",
  `SELECT ${obligationColumns} FROM counterfoil_obligations AS o INDEXED BY counterfoil_obligations_attention
   WHERE state = 'stuck' OR (state IN ('uncertain', 'settling') AND due_at IS NULL AND lease_boot IS NULL)
   ORDER BY o.id LIMIT ?`,
);

const mismatches = "(SELECT count(*) FROM counterfoil_mismatches AS m WHERE m.receipt_id = r.id AND m.open = 1)";

// Index counterfoil_receipts_attention.
const openReceipts = sql(
  "read.attention-receipts",
  `SELECT ${receiptColumns}, ${mismatches} AS mismatches
   FROM counterfoil_receipts AS r INDEXED BY counterfoil_receipts_attention
   WHERE outcome IN ('conflict', 'quarantined', 'suspect') OR (outcome IN ('held', 'parked') AND due_at IS NULL)
   ORDER BY r.id LIMIT ?`,
);

// Index counterfoil_receipts_deadline.
const lateReceipts = sql(
  "read.attention-late",
  `SELECT ${receiptColumns}, ${mismatches} AS mismatches FROM counterfoil_receipts AS r
   WHERE r.deadline_at IS NOT NULL AND r.deadline_at <= ?1 AND r.outcome IN ('held', 'parked')
   ORDER BY r.deadline_at LIMIT ?2`,
);

// Index counterfoil_receipts_due. Nobody applies these: their connection is gone, or every worker is.
const overdueReceipts = sql(
  "read.attention-overdue",
  `SELECT ${receiptColumns}, ${mismatches} AS mismatches FROM counterfoil_receipts AS r INDEXED BY counterfoil_receipts_due
   WHERE r.due_at IS NOT NULL AND r.due_at <= ?1 ORDER BY r.due_at LIMIT ?2`,
);

/** An event this long past its due time is the operator's to look at. */
const overdueMs = 3_600_000;

// Index counterfoil_mismatches_open, whose rows come by receipt.
const mismatchedReceipts = sql(
  "read.attention-mismatches",
  `SELECT ${receiptColumns}, m.mismatches
   FROM (SELECT receipt_id, count(*) AS mismatches FROM counterfoil_mismatches WHERE open = 1 GROUP BY receipt_id LIMIT ?) AS m
   JOIN counterfoil_receipts AS r ON r.id = m.receipt_id ORDER BY r.id`,
);

export function readAttention(handle: ReadHandle, limit: number): Attention[] {
  const now = handle.stamp().wallMs;
  const receipts = new Map<number, Attention>();
  const found = (rows: readonly unknown[]): Attention[] =>
    rows.flatMap((each) => {
      const row = each as ReceiptRow & { readonly mismatches: number };
      if (receipts.has(row.id)) return [];
      const attention = { kind: "receipt" as const, receipt: toReceipt(row), mismatches: row.mismatches };
      receipts.set(row.id, attention);
      return [attention];
    });
  return fairShare(
    [
      pausedDestinations(handle).map((paused) => ({ kind: "destination" as const, ...paused })),
      handle
        .statement(stuckObligations)
        .all(limit)
        .map((row) => ({ kind: "obligation" as const, obligation: toObligation(row as unknown as ObligationRow) })),
      found(handle.statement(openReceipts).all(limit)),
      found(handle.statement(lateReceipts).all(now, limit)),
      found(handle.statement(overdueReceipts).all(now - overdueMs, limit)),
      found(handle.statement(mismatchedReceipts).all(limit)),
    ],
    limit,
  );
}
