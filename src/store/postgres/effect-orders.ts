/**
 * Order keys: of what has not taken effect yet, only the first has a due time.
 *
 * Who owes under an order key, and who makes room for the next, take its lock, and each looks at what is
 * first in a statement of its own after that: whoever comes second sees what the other committed.
 */
import { holdingStates } from "../order-states.ts";
import type { FreedOrders } from "../store.ts";
import type { Handle } from "./handle.ts";
import { lockKey, takeLocks } from "./open-receipts.ts";
import { sql } from "./statements.ts";

/** Takes the locks of order keys, until the transaction ends. */
export async function lockEffectOrders(handle: Handle, orderKeys: readonly string[]): Promise<void> {
  await takeLocks(handle, new Set(orderKeys.map((orderKey) => lockKey([handle.schema, "order", orderKey]))));
}

// Index progress_order: one seek for each key, however many wait.
const free = sql(
  "effect-order.free",
  `WITH first AS MATERIALIZED (
     SELECT p.obligation_id FROM unnest($2::text[]) AS k (order_key) CROSS JOIN LATERAL (
       SELECT p.obligation_id, p.state, p.due_at, p.lease_until FROM counterfoil.progress AS p
       WHERE p.order_key = k.order_key COLLATE "C" AND p.state IN ${holdingStates}
       ORDER BY p.obligation_id LIMIT 1) AS p
     WHERE p.state = 'owed' AND p.due_at IS NULL AND p.lease_until IS NULL)
   UPDATE counterfoil.progress AS p SET due_at = greatest($1, p.not_before) FROM first
   WHERE p.obligation_id = first.obligation_id AND p.state = 'owed' AND p.due_at IS NULL AND p.lease_until IS NULL
   RETURNING p.obligation_id`,
);

/** Gives the first of each order key its due time, unless it has one, is under way, or is stuck. */
export async function freeNext(handle: Handle, orderKeys: readonly string[]): Promise<number> {
  if (orderKeys.length === 0) return 0;
  const { length } = await handle.run(free, [handle.stamp.wallMs, [...new Set(orderKeys)]]);
  if (length > 0) handle.say({ owed: true });
  return length;
}

// Index progress_order: one seek for each.
const holdBack = sql(
  "effect-order.hold-back",
  `UPDATE counterfoil.progress AS p SET due_at = NULL
   WHERE p.obligation_id = ANY ($1::bigint[]) AND p.state = 'owed' AND p.due_at IS NOT NULL AND EXISTS (
     SELECT 1 FROM counterfoil.progress AS o
     WHERE o.order_key = p.order_key AND o.state IN ${holdingStates} AND o.obligation_id < p.obligation_id)`,
);

/** Takes the due time from what is owed again while an earlier one of its order key is not decided. */
export async function holdBackLater(handle: Handle, ids: readonly number[]): Promise<void> {
  if (ids.length > 0) await handle.run(holdBack, [ids]);
}

// Index progress_order, from one key to the next, one seek each.
const walk = sql(
  "effect-order.walk",
  `WITH RECURSIVE key AS (
     (SELECT order_key FROM counterfoil.progress
      WHERE order_key > $1 AND state IN ${holdingStates} ORDER BY order_key LIMIT 1)
     UNION ALL
     SELECT next.order_key FROM key CROSS JOIN LATERAL (
       SELECT p.order_key FROM counterfoil.progress AS p
       WHERE p.order_key > key.order_key AND p.state IN ${holdingStates} ORDER BY p.order_key LIMIT 1) AS next)
   SELECT order_key FROM key LIMIT $2`,
);

/** Walks over order keys, and gives what is first and waits its due time. */
export async function freeOrders(handle: Handle, after: string, limit: number): Promise<FreedOrders> {
  const rows = await handle.run<{ readonly order_key: string }>(walk, [after, limit]);
  const orderKeys = rows.map(({ order_key: orderKey }) => orderKey);
  await lockEffectOrders(handle, orderKeys);
  const freed = await freeNext(handle, orderKeys);
  return { freed, next: rows.length === limit ? (orderKeys.at(-1) ?? null) : null };
}
