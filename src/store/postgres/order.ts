/**
 * Lines of events that are applied one after the other.
 *
 * Who looks who is first in a line, and who leaves one, holds its lock until the commit: so nobody joins
 * behind an event that has just been decided, and then waits for a word that was said already.
 */
import type { OrderKey } from "../../domain/receipt.ts";
import type { InLine } from "../store.ts";
import type { Handle } from "./handle.ts";
import { relation } from "./relation.ts";
import { keepsLine } from "./rows.ts";
import { sql } from "./statements.ts";

/**
 * The key of a line's advisory lock, which is the whole database's: the schema, as the table's, is part of
 * what is hashed. Two lines with one key wait for each other and lose nothing else by it.
 */
export function lineLock(table: string): string {
  return `hashtextextended(jsonb_build_array(${table}.connection, ${table}.account, ${table}.order_key)::text,
    'counterfoil.receipts'::regclass::oid::bigint)`;
}

const lines = relation("l", { connection: "text", account: "text", order_key: "text" });

// In one order, so that two groups with the same lines wait for each other, never both at once.
const lockLines = sql(
  "order.lock",
  `SELECT pg_advisory_xact_lock(key)
   FROM (SELECT DISTINCT ${lineLock("l")} AS key FROM ${lines.from} ORDER BY key) AS sorted`,
);

/** Takes the locks of lines; they end with the transaction. */
export async function lockOrders(handle: Handle, given: readonly OrderKey[]): Promise<void> {
  if (given.length === 0) return;
  const rows = given.map(({ connection, account, orderKey }) => ({ connection, account, order_key: orderKey }));
  await handle.run(lockLines, lines.values(rows));
}

// Index receipts_order.
const selectFirst = sql(
  "order.first",
  `SELECT r.id, r.rank FROM counterfoil.receipts AS r
   WHERE r.connection = $1 AND r.account = $2 AND r.order_key = $3 AND ${keepsLine("r")} AND r.id <> $4
   ORDER BY r.rank, r.id LIMIT 1`,
);

/** The event that keeps a line, apart from one. */
export async function firstInOrder(
  handle: Handle,
  { connection, account, orderKey }: OrderKey,
  except: number,
): Promise<InLine | undefined> {
  const [first] = await handle.run<InLine>(selectFirst, [connection, account, orderKey, except]);
  return first;
}

// Index receipts_order. One that is held or parked keeps the time of its own.
const release = sql(
  "receipt.release",
  `WITH line AS MATERIALIZED (
     SELECT DISTINCT connection, account, order_key FROM counterfoil.receipts
     WHERE id = ANY ($2::bigint[]) AND order_key IS NOT NULL),
   next AS MATERIALIZED (
     SELECT f.id FROM line AS l CROSS JOIN LATERAL (
       SELECT n.id, n.outcome FROM counterfoil.receipts AS n
       WHERE n.connection = l.connection AND n.account = l.account AND n.order_key = l.order_key AND ${keepsLine("n")}
       ORDER BY n.rank, n.id LIMIT 1) AS f
     WHERE f.outcome = 'queued')
   UPDATE counterfoil.receipts AS r SET due_at = least(r.due_at, $1) FROM next
   WHERE r.id = next.id AND r.outcome = 'queued' RETURNING r.id`,
);

/** Lets the first that is queued in the lines of these events be due. */
export async function releaseNext(handle: Handle, ids: readonly number[]): Promise<void> {
  const released = await handle.run(release, [handle.stamp.wallMs, ids]);
  if (released.length > 0) handle.say({ arrived: true });
}
