/**
 * What only an operator can decide: lists without a row in common, each read from a key on by an index
 * that holds little else.
 */
import { type Found, type Key, readCursor, takeInTurn, unrefreshed, untaken } from "../attention-pages.ts";
import type { Attention, AttentionPage, Counts } from "../reader.ts";
import type { Refresh } from "../refresh-writes.ts";
import { toObligation, toReceipt, type ObligationRow, type ReceiptRow } from "../rows.ts";
import type { ReadHandle } from "./handle.ts";
import { isPaused, pausedConnections } from "./paused-connections.ts";
import { readDue, readWorkers } from "./reader-work.ts";
import { dueRefreshes, failedRefreshes } from "./refreshes.ts";
import { obligationColumns, receiptColumns } from "./rows.ts";
import { type Sql, sql } from "./statements.ts";

const pausedDestinations = sql(
  "read.attention-destinations",
  `SELECT destination, paused_reason AS reason FROM counterfoil_destinations
   WHERE paused_reason IS NOT NULL AND destination > ? ORDER BY destination LIMIT +?`,
);

// Index counterfoil_obligations_attention. A row without due time and lease moves by nobody but an operator.
const stuckObligations = sql(
  "read.attention-obligations",
  `SELECT ${obligationColumns} FROM counterfoil_obligations AS o INDEXED BY counterfoil_obligations_attention
   WHERE (state = 'stuck' OR (state IN ('uncertain', 'settling') AND due_at IS NULL AND lease_boot IS NULL)
     OR (state IN ('withdrawn', 'cancelled') AND tries > 0 AND due_at IS NULL AND lease_boot IS NULL))
     AND o.id > ? ORDER BY o.id LIMIT +?`,
);

const mismatches = "(SELECT count(*) FROM counterfoil_mismatches AS m WHERE m.receipt_id = r.id AND m.open = 1)";
const columns = `SELECT ${receiptColumns}, ${mismatches} AS mismatches FROM counterfoil_receipts AS r`;

/** As the index on what is open has it. */
const isOpen =
  "(r.outcome IN ('conflict', 'quarantined', 'suspect') OR (r.outcome IN ('held', 'parked') AND r.due_at IS NULL))";
const isLate = "(r.deadline_at IS NOT NULL AND r.deadline_at <= ?1 AND r.outcome IN ('held', 'parked'))";
const isOverdue = `(r.due_at IS NOT NULL AND r.due_at <= ?2 AND NOT (${isPaused("r.connection")}))`;

/** What is this long past its due time is the operator's to look at. */
const overdueMs = 3_600_000;

// Index counterfoil_receipts_attention.
const openReceipts = sql(
  "read.attention-receipts",
  `${columns} INDEXED BY counterfoil_receipts_attention WHERE ${isOpen} AND r.id > ?3 ORDER BY r.id LIMIT +?4`,
);

// Index counterfoil_receipts_deadline.
const lateReceipts = sql(
  "read.attention-late",
  `${columns} WHERE ${isLate} AND NOT ${isOpen} AND (r.deadline_at, r.id) > (?3, ?4)
   ORDER BY r.deadline_at, r.id LIMIT +?5`,
);

// Index counterfoil_receipts_due. Nobody applies these: their connection is gone, or every worker is.
const overdueReceipts = sql(
  "read.attention-overdue",
  `${columns} INDEXED BY counterfoil_receipts_due
   WHERE ${isOverdue} AND NOT ${isOpen} AND NOT ${isLate} AND (r.due_at, r.id) > (?3, ?4)
   ORDER BY r.due_at, r.id LIMIT +?5`,
);

// Index counterfoil_mismatches_open, whose rows come by receipt.
const mismatchedReceipts = sql(
  "read.attention-mismatches",
  `SELECT ${receiptColumns}, count(*) AS mismatches
   FROM counterfoil_mismatches AS m CROSS JOIN counterfoil_receipts AS r ON r.id = m.receipt_id
   WHERE m.open = 1 AND m.receipt_id > ?3 AND NOT ${isOpen} AND NOT ${isLate} AND NOT ${isOverdue}
   GROUP BY m.receipt_id ORDER BY m.receipt_id LIMIT +?4`,
);

/** One page, from each list as many as there is room for. */
export function readAttention(handle: ReadHandle, { after, limit }: AttentionPage): Attention[] {
  const from = readCursor(after);
  const [
    destinations = [],
    obligations = [],
    open = [],
    late = [],
    overdue = [],
    mismatched = [],
    effects = [],
    refreshes = [],
    kinds = [],
    [connection] = [],
  ] = from;
  const now = handle.stamp().wallMs;
  const receipts = (definition: Sql, key: Key, keyOf: (row: FoundReceipt) => Key): Found[] =>
    (handle.statement(definition).all(now, now - overdueMs, ...key, limit) as unknown as FoundReceipt[]).map((row) => ({
      item: { kind: "receipt", receipt: toReceipt(row), mismatches: row.mismatches },
      key: keyOf(row),
    }));
  const lists = [
    handle
      .statement(pausedDestinations)
      .all(...destinations, limit)
      .map((row) => foundDestination(row as unknown as PausedRow)),
    handle
      .statement(stuckObligations)
      .all(...obligations, limit)
      .map((row) => foundObligation(row as unknown as ObligationRow)),
    receipts(openReceipts, open, ({ id }) => [id]),
    receipts(lateReceipts, late, ({ deadline_at, id }) => [deadline_at ?? 0, id]),
    receipts(overdueReceipts, overdue, ({ due_at, id }) => [due_at ?? 0, id]),
    receipts(mismatchedReceipts, mismatched, ({ id }) => [id]),
    untaken({ due: readDue(handle), workers: readWorkers(handle) }, { since: now - overdueMs, after: effects }),
    failedRefreshes(handle, refreshes, limit).map(foundRefresh),
    unrefreshed(dueRefreshes(handle), { since: now - overdueMs, after: kinds }),
    pausedConnections(handle, { after: connection, limit }).map(foundConnection),
  ];
  return takeInTurn(lists, { from, limit });
}

interface PausedRow {
  readonly destination: string;
  readonly reason: string;
}

interface FoundReceipt extends ReceiptRow {
  readonly mismatches: number;
}

function foundDestination({ destination, reason }: PausedRow): Found {
  return { item: { kind: "destination", destination, reason }, key: [destination] };
}

function foundConnection({ connection, reason }: Counts["pausedConnections"][number]): Found {
  return { item: { kind: "connection", connection, reason }, key: [connection] };
}

function foundObligation(row: ObligationRow): Found {
  return { item: { kind: "obligation", obligation: toObligation(row) }, key: [row.id] };
}

function foundRefresh(refresh: Refresh): Found {
  const { connection, account, kind, id } = refresh;
  return { item: { kind: "refresh", refresh }, key: [connection, account, kind, id] };
}
