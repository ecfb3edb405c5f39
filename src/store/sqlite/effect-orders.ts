/**
 * Order keys: of what has not taken effect yet, only the first has a due time. The write lock of the
 * transaction orders those who owe, and those who make room for the next.
 */
import { holdingStates } from "../order-states.ts";
import type { FreedOrders } from "../store.ts";
import type { Handle } from "./handle.ts";
import { sql } from "./statements.ts";

// Index counterfoil_obligations_order: one seek, however many wait.
const free = sql(
  "effect-order.free",
  `UPDATE counterfoil_obligations SET due_at = max(?1, coalesce(not_before, ?1))
   WHERE id = (SELECT o.id FROM counterfoil_obligations AS o
               WHERE o.order_key = ?2 AND o.state IN ${holdingStates} ORDER BY o.id LIMIT 1)
     AND state = 'owed' AND due_at IS NULL AND lease_boot IS NULL`,
);

/** Gives the first of an order key its due time, unless it has one, is under way, or is stuck. */
export function freeNext(handle: Handle, orderKey: string): boolean {
  return Number(handle.statement(free).run(handle.stamp.wallMs, orderKey).changes) === 1;
}

// Index counterfoil_obligations_order: one seek.
const holdBack = sql(
  "effect-order.hold-back",
  `UPDATE counterfoil_obligations SET due_at = NULL
   WHERE id = ?1 AND EXISTS (SELECT 1 FROM counterfoil_obligations AS o
                             WHERE o.order_key = ?2 AND o.state IN ${holdingStates} AND o.id < ?1)`,
);

/** Takes the due time from what is owed again while an earlier one of its order key is not decided. */
export function holdBackLater(handle: Handle, id: number, orderKey: string): void {
  handle.statement(holdBack).run(id, orderKey);
}

const nextKey = sql(
  "effect-order.next",
  `SELECT order_key FROM counterfoil_obligations
   WHERE order_key > ? AND order_key IS NOT NULL AND state IN ${holdingStates} ORDER BY order_key LIMIT 1`,
);

/** Walks from one order key to the next, one seek each. */
export function freeOrders(handle: Handle, after: string, limit: number): FreedOrders {
  let freed = 0;
  let at = after;
  for (let looked = 0; looked < limit; looked += 1) {
    const row = handle.statement(nextKey).get(at) as { readonly order_key: string } | undefined;
    if (!row) return { freed, next: null };
    at = row.order_key;
    if (freeNext(handle, at)) freed += 1;
  }
  return { freed, next: at };
}
