/** Events that are not decided yet: what is due, and what an arrival makes due. */
import type { Prerequisite } from "../../domain/outcome.ts";
import type { OrderKey, Receipt } from "../../domain/receipt.ts";
import { toPayload, toReceipt, type PayloadRow, type ReceiptRow } from "../rows.ts";
import type { InLine, OpenReceipt } from "../store.ts";
import type { Handle } from "./handle.ts";
import { isPaused } from "./paused-connections.ts";
import { keepsLine, receiptColumns } from "./rows.ts";
import { sql } from "./statements.ts";

// Index counterfoil_receipts_due holds every column of the inner query, so that what is due is sorted
// without reading rows or bytes. It is named, because SQLite would rather read all receipts of a
// connection. The write lock of the transaction keeps others from taking the same.
const selectDue = sql(
  "receipt.due",
  `SELECT ${receiptColumns}
   FROM (SELECT id FROM counterfoil_receipts AS d INDEXED BY counterfoil_receipts_due
         WHERE due_at IS NOT NULL AND due_at <= ? AND connection IN (SELECT value FROM json_each(?))
           AND NOT (${isPaused("d.connection")})
         ORDER BY rank IS NULL, rank, id LIMIT +?) AS due
   JOIN counterfoil_receipts AS r ON r.id = due.id
   ORDER BY r.rank IS NULL, r.rank, r.id`,
);

/** Open events that are due: ranked ones first, by rank; then by id. */
export function dueReceipts(
  handle: Handle,
  { limit, connections }: { readonly limit: number; readonly connections: readonly string[] },
): Receipt[] {
  const rows = handle.statement(selectDue).all(handle.stamp.wallMs, JSON.stringify(connections), limit);
  return (rows as unknown as ReceiptRow[]).map(toReceipt);
}

const countStarts = sql(
  "receipt.start",
  "UPDATE counterfoil_receipts SET starts = starts + 1, due_at = ? WHERE id IN (SELECT value FROM json_each(?))",
);

/** Counts a start of each, and keeps them from being due for a while. */
export function startReceipts(handle: Handle, ids: readonly number[], leaseMs: number): void {
  handle.statement(countStarts).run(handle.stamp.wallMs + leaseMs, JSON.stringify(ids));
}

// By primary key, under the version that was started; an earlier time stays.
const returnStart = sql(
  "receipt.return",
  `UPDATE counterfoil_receipts SET starts = starts - 1, due_at = min(due_at, ?)
   WHERE id = ? AND version = ? AND starts > 0 AND due_at IS NOT NULL`,
);

/** Takes a counted start back. */
export function returnReceipts(handle: Handle, started: readonly Pick<Receipt, "id" | "version">[]): void {
  for (const { id, version } of started) handle.statement(returnStart).run(handle.stamp.wallMs, id, version);
}

const selectByIds = sql(
  "receipt.lock-all",
  `SELECT ${receiptColumns}, r.rank, p.bytes, p.headers FROM counterfoil_receipts AS r
   LEFT JOIN counterfoil_payloads AS p ON p.receipt_id = r.id
   WHERE r.id IN (SELECT value FROM json_each(?)) ORDER BY r.rank IS NULL, r.rank, r.id`,
);

/** Receipts with their bytes; the transaction's write lock is their lock. */
export function lockReceipts(handle: Handle, ids: readonly number[]): OpenReceipt[] {
  return handle.statement(selectByIds).all(JSON.stringify(ids)).map(toOpenReceipt);
}

const selectById = sql(
  "receipt.lock",
  `SELECT ${receiptColumns}, r.rank, p.bytes, p.headers FROM counterfoil_receipts AS r
   LEFT JOIN counterfoil_payloads AS p ON p.receipt_id = r.id WHERE r.id = ?`,
);

/** One receipt with its bytes; the transaction's write lock is its lock. */
export function lockReceipt(handle: Handle, id: number): OpenReceipt | undefined {
  const row = handle.statement(selectById).get(id);
  return row && toOpenReceipt(row);
}

// Index counterfoil_receipts_order.
const selectFirst = sql(
  "receipt.first",
  `SELECT r.id, r.rank FROM counterfoil_receipts AS r INDEXED BY counterfoil_receipts_order
   WHERE r.connection = ? AND r.account = ? AND r.order_key = ? AND ${keepsLine("r")} AND r.id <> ?
   ORDER BY r.rank IS NULL, r.rank, r.id LIMIT 1`,
);

/** The event that keeps a line, apart from one. */
export function firstInOrder(
  handle: Handle,
  { connection, account, orderKey }: OrderKey,
  except: number,
): InLine | undefined {
  return handle.statement(selectFirst).get(connection, account, orderKey, except) as InLine | undefined;
}

// Index counterfoil_receipts_waiting. A time that is earlier already stays.
const arriveAt = sql(
  "receipt.arrive",
  `UPDATE counterfoil_receipts SET due_at = min(coalesce(due_at, ?1), ?1)
   WHERE tenant = ?2 AND waits_kind = ?3 AND waits_id = ?4`,
);

/** Makes events due that wait for a name. */
export function arrive(handle: Handle, tenant: string, name: Prerequisite): number {
  return Number(handle.statement(arriveAt).run(handle.stamp.wallMs, tenant, name.kind, name.id).changes);
}

function toOpenReceipt(row: Record<string, unknown>): OpenReceipt {
  const payload = toPayload(row as unknown as PayloadRow);
  return { receipt: toReceipt(row as unknown as ReceiptRow), rank: row["rank"] as string | null, payload };
}
