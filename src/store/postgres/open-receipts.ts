/** Events that are not decided yet: what is due, and what an arrival makes due. */
import { createHash } from "node:crypto";
import type { Prerequisite } from "../../domain/outcome.ts";
import type { Receipt } from "../../domain/receipt.ts";
import { type PayloadRow, type ReceiptRow, toPayload, toReceipt } from "../rows.ts";
import type { OpenReceipt } from "../store.ts";
import type { Handle } from "./handle.ts";
import { lineLock } from "./order.ts";
import { isPaused } from "./paused-connections.ts";
import { binaryArray, relation } from "./relation.ts";
import { receiptColumns, receiptTables } from "./rows.ts";
import { sql } from "./statements.ts";

const lineIsFree = `CASE WHEN r.order_key IS NULL THEN true ELSE pg_try_advisory_xact_lock(${lineLock("r")}) END`;

/** Events among which the order of arrival is kept; as many that are longer due go before others. */
const windowMax = 1_000;

// Index receipts_due, in its order, as far as the window goes: what one arrival made due has one instant
// and comes by rank. Others' locks are passed by, those of lines too: waiting with events in hand would
// be for a receiver that may be waiting for one of them.
const selectDue = sql(
  "receipt.due",
  `WITH candidates AS MATERIALIZED (
     SELECT id, rank FROM counterfoil.receipts AS d
     WHERE due_at <= $1 AND connection = ANY ($2::text[]) AND NOT ${isPaused("d.connection")} ORDER BY due_at, rank, id LIMIT greatest($3::int, ${windowMax})),
   held AS MATERIALIZED (
     SELECT r.id FROM candidates JOIN counterfoil.receipts AS r USING (id) WHERE r.due_at <= $1
     ORDER BY r.rank, r.id LIMIT $3::int FOR UPDATE OF r SKIP LOCKED),
   free AS MATERIALIZED (
     SELECT h.id FROM held AS h JOIN counterfoil.receipts AS r USING (id)
     WHERE ${lineIsFree})
   SELECT ${receiptColumns} FROM free JOIN (${receiptTables}) USING (id) ORDER BY r.rank, r.id`,
);

/** Open events that are due: ranked ones first, by rank; then by id. */
export async function dueReceipts(
  handle: Handle,
  { limit, connections }: { readonly limit: number; readonly connections: readonly string[] },
): Promise<Receipt[]> {
  const rows = await handle.run<ReceiptRow>(selectDue, [handle.stamp.wallMs, binaryArray("text", connections), limit]);
  return rows.map(toReceipt);
}

// By primary key; the rows are locked.
const countStarts = sql(
  "receipt.start",
  "UPDATE counterfoil.receipts SET starts = starts + 1, due_at = $1 WHERE id = ANY ($2::bigint[])",
);

/** Counts a start of each, and keeps them from being due for a while. */
export async function startReceipts(handle: Handle, ids: readonly number[], leaseMs: number): Promise<void> {
  await handle.run(countStarts, [handle.stamp.wallMs + leaseMs, ids]);
}

const started = relation("g", { id: "int8", version: "int8" }, 1);

// By primary key, in the order of the ids, under the version that was started. An earlier time stays.
const returnStarts = sql(
  "receipt.return",
  `WITH given AS MATERIALIZED (SELECT * FROM ${started.from}),
   held AS MATERIALIZED (
     SELECT r.id FROM counterfoil.receipts AS r JOIN given AS g ON r.id = g.id AND r.version = g.version
     WHERE r.starts > 0 AND r.due_at IS NOT NULL ORDER BY r.id FOR UPDATE OF r)
   UPDATE counterfoil.receipts AS r SET starts = r.starts - 1, due_at = least(r.due_at, $1) FROM held WHERE r.id = held.id`,
);

/** Takes a counted start back. */
export async function returnReceipts(handle: Handle, given: readonly Pick<Receipt, "id" | "version">[]): Promise<void> {
  await handle.run(returnStarts, [handle.stamp.wallMs, ...started.values(given)]);
  handle.say({ arrived: true });
}

// By primary key. Others' locks are passed by, those of lines too, as above.
const lockByIds = sql(
  "receipt.lock-all",
  `WITH held AS MATERIALIZED (
     SELECT id FROM counterfoil.receipts WHERE id = ANY ($1::bigint[]) ORDER BY rank, id FOR UPDATE SKIP LOCKED),
   free AS MATERIALIZED (
     SELECT h.id FROM held AS h JOIN counterfoil.receipts AS r USING (id) WHERE ${lineIsFree})
   SELECT ${receiptColumns}, r.rank, p.bytes, p.headers FROM free JOIN (${receiptTables}) USING (id)
   LEFT JOIN counterfoil.payloads AS p ON p.receipt_id = r.id ORDER BY r.rank, r.id`,
);

/** Receipts with their bytes, locked with the line that they stand in. */
export async function lockReceipts(handle: Handle, ids: readonly number[]): Promise<OpenReceipt[]> {
  return (await handle.run<OpenReceiptRow>(lockByIds, [ids])).map(toOpenReceipt);
}

const lockById = sql(
  "receipt.lock",
  `SELECT ${receiptColumns}, r.rank, p.bytes, p.headers FROM ${receiptTables}
   LEFT JOIN counterfoil.payloads AS p ON p.receipt_id = r.id WHERE r.id = $1 FOR UPDATE OF r`,
);

// The line first, as whoever releases the next of a line has it.
const lockLineOf = sql(
  "receipt.lock-order",
  `SELECT pg_advisory_xact_lock(${lineLock("r")}) FROM counterfoil.receipts AS r WHERE r.id = $1 AND r.order_key IS NOT NULL`,
);

/** One receipt with its bytes, locked after its line. */
export async function lockReceipt(handle: Handle, id: number): Promise<OpenReceipt | undefined> {
  await handle.run(lockLineOf, [id]);
  const [row] = await handle.run<OpenReceiptRow>(lockById, [id]);
  return row && toOpenReceipt(row);
}

const lockKeys = sql("names.lock", "SELECT pg_advisory_xact_lock(key) FROM unnest($1::int8[]) AS key");

/** Takes the locks of names, in one order; they end with the transaction. */
export async function lockNames(
  handle: Handle,
  {
    schema,
    tenant,
    names,
  }: { readonly schema: string; readonly tenant: string; readonly names: readonly Prerequisite[] },
): Promise<void> {
  const keys = new Set(names.map(({ kind, id }) => lockKey([schema, tenant, kind, id])));
  await takeLocks(handle, keys);
}

/** Takes advisory locks, in one order; they end with the transaction. */
export async function takeLocks(handle: Handle, keys: ReadonlySet<bigint>): Promise<void> {
  const sorted = [...keys].toSorted((left, right) => (left < right ? -1 : left > right ? 1 : 0));
  if (sorted.length > 0) await handle.run(lockKeys, [sorted.map(String)]);
}

/**
 * A 64-bit key of an advisory lock. Advisory locks are the whole database's, so that the schema is part
 * of what is hashed; two names with one key wait for each other and lose nothing else by it.
 */
export function lockKey(parts: readonly string[]): bigint {
  return createHash("sha256").update(JSON.stringify(parts)).digest().readBigInt64BE();
}

// Index receipts_waiting. A time that is earlier already stays.
const arriveAt = sql(
  "receipt.arrive",
  `WITH waiting AS MATERIALIZED (
     SELECT id FROM counterfoil.receipts WHERE tenant = $2 AND waits_kind = $3 AND waits_id = $4
     ORDER BY id FOR UPDATE)
   UPDATE counterfoil.receipts AS r SET due_at = least(r.due_at, $1) FROM waiting WHERE r.id = waiting.id
   RETURNING r.id`,
);

/** Makes events due that wait for a name. */
export async function arrive(handle: Handle, tenant: string, name: Prerequisite): Promise<number> {
  const { length } = await handle.run(arriveAt, [handle.stamp.wallMs, tenant, name.kind, name.id]);
  if (length > 0) handle.say({ arrived: true });
  return length;
}

type OpenReceiptRow = ReceiptRow & PayloadRow & { readonly rank: string | null };

function toOpenReceipt(row: OpenReceiptRow): OpenReceipt {
  return { receipt: toReceipt(row), rank: row.rank, payload: toPayload(row) };
}
