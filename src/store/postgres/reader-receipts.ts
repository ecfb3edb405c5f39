/** Reads of receipts, for operators. */
import type { Payload, Receipt } from "../../domain/receipt.ts";
import { auditTarget } from "../audit-target.ts";
import { pageOf, whereSet } from "../page.ts";
import type { Page, ReceiptDetail, ReceiptFilter, RecordedDelivery } from "../reader.ts";
import { type ObligationRow, type PayloadRow, type ReceiptRow, toObligation, toPayload, toReceipt } from "../rows.ts";
import type { ReadHandle } from "./handle.ts";
import { ownedPage } from "./reader-owned.ts";
import { auditOf } from "./reader-records.ts";
import { obligationColumns, obligationTables, receiptColumns, receiptTables } from "./rows.ts";
import { sql } from "./statements.ts";

// An event id is unique within an account of a connection only: the unique index is walked from account
// to account, one seek each, and asked for the id in each.
const byEventId = `WITH RECURSIVE account AS (
    (SELECT connection, account FROM counterfoil.receipts ORDER BY connection, account LIMIT 1)
    UNION ALL
    SELECT next.* FROM account AS here CROSS JOIN LATERAL (
      SELECT n.connection, n.account FROM counterfoil.receipts AS n
      WHERE (n.connection, n.account) > (here.connection, here.account) ORDER BY n.connection, n.account LIMIT 1) AS next)
  SELECT ${receiptColumns} FROM account AS a
  JOIN (${receiptTables}) ON r.connection = a.connection AND r.account = a.account`;

/** A page of receipts, newest first. */
export async function listReceipts(handle: ReadHandle, filter: ReceiptFilter, page: Page): Promise<Receipt[]> {
  return (await receiptRows(handle, filter, page)).map(toReceipt);
}

function receiptRows(
  handle: ReadHandle,
  { connection, outcome, eventId }: ReceiptFilter,
  page: Page,
): Promise<readonly ReceiptRow[]> {
  const byConnection = whereSet("r.connection = ?", connection);
  const byOutcome = whereSet(outcomeText(outcome), outcome);
  const [owner] = byConnection;
  // The index on the rarer outcomes is shorter than what one connection owns.
  if (owner && eventId === undefined && (outcome === undefined || outcome === "applied")) {
    const table = { columns: receiptColumns, tables: receiptTables, table: "counterfoil.receipts", alias: "r" };
    return ownedPage<ReceiptRow>(handle, page, { ...table, owner, where: byOutcome });
  }
  const { text, values } = pageOf(page, {
    from: eventId === undefined ? `SELECT ${receiptColumns} FROM ${receiptTables}` : byEventId,
    id: "r.id",
    where: [...whereSet("r.event_id = ?", eventId), ...byConnection, ...byOutcome],
  });
  return handle.runText<ReceiptRow>(text, values);
}

/** The second half lets the partial index on the rarer outcomes serve; applied ones are most rows anyway. */
function outcomeText(outcome: ReceiptFilter["outcome"]): string {
  return outcome === "applied" ? "r.outcome = ?" : "r.outcome = ? AND r.outcome <> 'applied'";
}

const selectReceipt = sql(
  "read.receipt",
  `SELECT ${receiptColumns}, r.waits_kind, r.waits_id,
     (SELECT length(p.bytes) FROM counterfoil.payloads AS p WHERE p.receipt_id = r.id) AS length,
     (SELECT count(*) FROM counterfoil.mismatches AS m WHERE m.receipt_id = r.id AND m.open) AS mismatches
   FROM ${receiptTables} WHERE r.id = $1`,
);

const selectRedeliveries = sql(
  "read.redeliveries",
  "SELECT at, digest FROM counterfoil.redeliveries WHERE receipt_id = $1 ORDER BY number",
);

const selectObligations = sql(
  "read.receipt-obligations",
  `SELECT ${obligationColumns} FROM ${obligationTables} WHERE o.receipt_id = $1 ORDER BY o.id`,
);

interface DetailRow extends ReceiptRow {
  readonly waits_kind: string | null;
  readonly waits_id: string | null;
  readonly length: number | null;
  readonly mismatches: number;
}

export async function readReceipt(handle: ReadHandle, id: number): Promise<ReceiptDetail | undefined> {
  const [row] = await handle.run<DetailRow>(selectReceipt, [id]);
  if (!row) return undefined;
  const { waits_kind: kind, waits_id: name, length, mismatches } = row;
  return {
    receipt: toReceipt(row),
    redeliveries: await handle.run<RecordedDelivery>(selectRedeliveries, [id]),
    mismatches,
    waitsFor: kind === null || name === null ? null : { kind, id: name },
    obligations: (await handle.run<ObligationRow>(selectObligations, [id])).map(toObligation),
    bytes: length,
    audit: await auditOf(handle, auditTarget("receipt", id)),
  };
}

const selectPayload = sql("read.payload", "SELECT bytes, headers FROM counterfoil.payloads WHERE receipt_id = $1");

export async function readPayload(handle: ReadHandle, receiptId: number): Promise<Payload | undefined> {
  const [row] = await handle.run<PayloadRow>(selectPayload, [receiptId]);
  return row && (toPayload(row) ?? undefined);
}
