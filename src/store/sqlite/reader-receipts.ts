/** Reads of receipts, for operators. */
import type { Payload, Receipt } from "../../domain/receipt.ts";
import { auditTarget } from "../audit-target.ts";
import { pageOf, whereSet } from "../page.ts";
import type { Page, ReceiptDetail, ReceiptFilter, RecordedDelivery } from "../reader.ts";
import { toObligation, toPayload, toReceipt, type ObligationRow, type PayloadRow, type ReceiptRow } from "../rows.ts";
import type { ReadHandle } from "./handle.ts";
import { ownedPage } from "./reader-owned.ts";
import { auditOf } from "./reader-records.ts";
import { obligationColumns, receiptColumns } from "./rows.ts";
import { sql } from "./statements.ts";

/** A page of receipts, newest first. */
export function listReceipts(handle: ReadHandle, filter: ReceiptFilter, page: Page): Receipt[] {
  const { eventId } = filter;
  if (eventId !== undefined) return byEventId(handle, { ...filter, eventId }, page);
  return listed(handle, filter, page).map((row) => toReceipt(row as unknown as ReceiptRow));
}

function listed(
  handle: ReadHandle,
  { connection, outcome }: ReceiptFilter,
  page: Page,
): readonly Record<string, unknown>[] {
  const table = "counterfoil_receipts";
  if (connection !== undefined && (outcome === undefined || outcome === "applied")) {
    const index = "sqlite_autoindex_counterfoil_receipts_1";
    const owner = { column: "connection", value: connection };
    const where = whereSet("r.outcome = ?", outcome);
    return ownedPage(handle, page, { columns: receiptColumns, table, alias: "r", index, owner, where });
  }
  // The second half lets the partial index on the rarer outcomes serve; the plus keeps SQLite from
  // sorting all receipts of a connection instead.
  const byOutcome = outcome === "applied" ? "r.outcome = ?" : "r.outcome = ? AND r.outcome <> 'applied'";
  const { text, values } = pageOf(page, {
    from: `SELECT ${receiptColumns} FROM ${table} AS r`,
    id: "r.id",
    where: [...whereSet("+r.connection = ?", connection), ...whereSet(byOutcome, outcome)],
  });
  return handle.database.prepare(text).all(...values);
}

// One seek in the unique index for each account of each connection. A bound on all three columns, the
// last above any text; on the first two alone, SQLite would walk all events of the account.
const nextAccount = sql(
  "read.next-account",
  `SELECT connection, account FROM counterfoil_receipts WHERE (connection, account, event_id) > (?, ?, char(0x10FFFF))
   ORDER BY connection, account LIMIT 1`,
);

const selectByKey = sql(
  "read.receipt-by-key",
  `SELECT ${receiptColumns} FROM counterfoil_receipts AS r WHERE connection = ? AND account = ? AND event_id = ?`,
);

/** An event id is unique within an account of a connection only: each of these is asked for it. */
function byEventId(handle: ReadHandle, filter: ReceiptFilter & { readonly eventId: string }, page: Page): Receipt[] {
  const found: Receipt[] = [];
  let at: { readonly connection: string; readonly account: string } | undefined = { connection: "", account: "" };
  for (;;) {
    at = handle.statement(nextAccount).get(at.connection, at.account) as typeof at;
    if (!at) break;
    const row = handle.statement(selectByKey).get(at.connection, at.account, filter.eventId);
    if (row) found.push(toReceipt(row as unknown as ReceiptRow));
  }
  const { connection, outcome } = filter;
  return found
    .filter((receipt) => connection === undefined || receipt.connection === connection)
    .filter((receipt) => outcome === undefined || receipt.outcome === outcome)
    .filter(({ id }) => page.before === undefined || id < page.before)
    .toSorted((left, right) => right.id - left.id)
    .slice(0, page.limit);
}

const selectReceipt = sql(
  "read.receipt",
  `SELECT ${receiptColumns}, r.waits_kind, r.waits_id, length(p.bytes) AS length,
     (SELECT count(*) FROM counterfoil_mismatches AS m WHERE m.receipt_id = r.id AND m.open = 1) AS mismatches
   FROM counterfoil_receipts AS r
   LEFT JOIN counterfoil_payloads AS p ON p.receipt_id = r.id WHERE r.id = ?`,
);

const selectRedeliveries = sql(
  "read.redeliveries",
  "SELECT at, digest FROM counterfoil_redeliveries WHERE receipt_id = ? ORDER BY delivery",
);

const selectObligations = sql(
  "read.receipt-obligations",
  `SELECT ${obligationColumns} FROM counterfoil_obligations AS o WHERE o.receipt_id = ? ORDER BY o.id`,
);

interface DetailRow extends ReceiptRow {
  readonly waits_kind: string | null;
  readonly waits_id: string | null;
  readonly length: number | null;
  readonly mismatches: number;
}

export function readReceipt(handle: ReadHandle, id: number): ReceiptDetail | undefined {
  const row = handle.statement(selectReceipt).get(id) as unknown as DetailRow | undefined;
  if (!row) return undefined;
  const { waits_kind: kind, waits_id: name, length } = row;
  return {
    receipt: toReceipt(row),
    redeliveries: handle.statement(selectRedeliveries).all(id) as unknown as readonly RecordedDelivery[],
    mismatches: row.mismatches,
    waitsFor: kind === null || name === null ? null : { kind, id: name },
    obligations: handle
      .statement(selectObligations)
      .all(id)
      .map((found) => toObligation(found as unknown as ObligationRow)),
    bytes: length,
    audit: auditOf(handle, auditTarget("receipt", id)),
  };
}

const selectPayload = sql("read.payload", "SELECT bytes, headers FROM counterfoil_payloads WHERE receipt_id = ?");

export function readPayload(handle: ReadHandle, receiptId: number): Payload | undefined {
  const row = handle.statement(selectPayload).get(receiptId);
  return row ? (toPayload(row as unknown as PayloadRow) ?? undefined) : undefined;
}
