/**
 * What only an operator can decide: lists without a row in common, each read from a key on by an index
 * that holds little else.
 */
import { type Found, type Key, readCursor, takeInTurn, unrefreshed, untaken } from "../attention-pages.ts";
import type { Attention, AttentionPage, Counts } from "../reader.ts";
import type { Refresh } from "../refresh-writes.ts";
import { type ObligationRow, type ReceiptRow, toObligation, toReceipt } from "../rows.ts";
import type { ReadHandle } from "./handle.ts";
import { isPaused, pausedConnections } from "./paused-connections.ts";
import { readDue, readWorkers } from "./reader-work.ts";
import { dueRefreshes, failedRefreshes } from "./refreshes.ts";
import { openColumns, receiptColumns, receiptTables } from "./rows.ts";
import { type Sql, sql } from "./statements.ts";

const pausedDestinations = sql(
  "read.attention-destinations",
  `SELECT destination, paused_reason AS reason FROM counterfoil.destinations
   WHERE paused_reason IS NOT NULL AND destination > $1 ORDER BY destination LIMIT $2`,
);

// Index progress_attention. A row without due time and lease moves by nobody but an operator.
const stuckObligations = sql(
  "read.attention-obligations",
  `SELECT ${openColumns} FROM counterfoil.progress AS p JOIN counterfoil.obligations AS o ON o.id = p.obligation_id
   WHERE (p.state = 'stuck' OR (p.state IN ('uncertain', 'settling') AND p.due_at IS NULL AND p.lease_until IS NULL)
     OR (p.state IN ('withdrawn', 'cancelled') AND p.tries > 0 AND p.due_at IS NULL AND p.lease_until IS NULL))
     AND p.obligation_id > $1 ORDER BY p.obligation_id LIMIT $2`,
);

const columns = `SELECT ${receiptColumns},
  (SELECT count(*) FROM counterfoil.mismatches AS m WHERE m.receipt_id = r.id AND m.open) AS mismatches`;

/** As the index on what is open has it. */
const isOpen =
  "(r.outcome IN ('conflict', 'quarantined', 'suspect') OR (r.outcome IN ('held', 'parked') AND r.due_at IS NULL))";
const isLate = "(r.deadline_at IS NOT NULL AND r.deadline_at <= $1 AND r.outcome IN ('held', 'parked'))";
const isOverdue = `(r.due_at IS NOT NULL AND r.due_at <= $2 AND NOT ${isPaused("r.connection")})`;

/** What is this long past its due time is the operator's to look at. */
const overdueMs = 3_600_000;

/** A list that needs neither instant is given them all the same. */
const instants = "$1::bigint IS NOT NULL AND $2::bigint IS NOT NULL";

// Index receipts_attention.
const openReceipts = sql(
  "read.attention-receipts",
  `${columns} FROM ${receiptTables} WHERE ${isOpen} AND r.id > $3 AND ${instants} ORDER BY r.id LIMIT $4`,
);

// Index receipts_deadline.
const lateReceipts = sql(
  "read.attention-late",
  `${columns} FROM ${receiptTables} WHERE ${isLate} AND NOT ${isOpen} AND ${instants}
     AND (r.deadline_at, r.id) > ($3, $4) ORDER BY r.deadline_at, r.id LIMIT $5`,
);

// Index receipts_due. Nobody applies these: their connection is gone, or every worker is.
const overdueReceipts = sql(
  "read.attention-overdue",
  `${columns} FROM ${receiptTables} WHERE ${isOverdue} AND NOT ${isOpen} AND NOT ${isLate}
     AND (r.due_at, r.id) > ($3, $4) ORDER BY r.due_at, r.id LIMIT $5`,
);

// Index mismatches_open, whose rows come by receipt.
const mismatchedReceipts = sql(
  "read.attention-mismatches",
  `${columns} FROM (SELECT DISTINCT receipt_id FROM counterfoil.mismatches WHERE open AND receipt_id > $3) AS mismatched
   JOIN (${receiptTables}) ON r.id = mismatched.receipt_id
   WHERE NOT ${isOpen} AND NOT ${isLate} AND NOT ${isOverdue} ORDER BY r.id LIMIT $4`,
);

/** One page, from each list as many as there is room for. */
export async function readAttention(handle: ReadHandle, { after, limit }: AttentionPage): Promise<Attention[]> {
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
  const { now } = handle;
  const receipts = async (definition: Sql, key: Key, keyOf: (row: FoundReceipt) => Key): Promise<readonly Found[]> => {
    const rows = await handle.run<FoundReceipt>(definition, [now, now - overdueMs, ...key, limit]);
    return rows.map((row) => ({
      item: { kind: "receipt", receipt: toReceipt(row), mismatches: row.mismatches },
      key: keyOf(row),
    }));
  };
  const paused = await handle.run<PausedRow>(pausedDestinations, [...destinations, limit]);
  const stuck = await handle.run<ObligationRow>(stuckObligations, [...obligations, limit]);
  const lists = [
    paused.map(foundDestination),
    stuck.map(foundObligation),
    await receipts(openReceipts, open, ({ id }) => [id]),
    await receipts(lateReceipts, late, ({ deadline_at, id }) => [deadline_at ?? 0, id]),
    await receipts(overdueReceipts, overdue, ({ due_at, id }) => [due_at ?? 0, id]),
    await receipts(mismatchedReceipts, mismatched, ({ id }) => [id]),
    untaken(
      { due: await readDue(handle), workers: await readWorkers(handle) },
      { since: now - overdueMs, after: effects },
    ),
    (await failedRefreshes(handle, refreshes, limit)).map(foundRefresh),
    unrefreshed(await dueRefreshes(handle), { since: now - overdueMs, after: kinds }),
    (await pausedConnections(handle, { after: connection, limit })).map(foundConnection),
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
