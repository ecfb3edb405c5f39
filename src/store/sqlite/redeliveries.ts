/** Later deliveries of events that are known. */
import type { Redelivery } from "../store.ts";
import type { Handle } from "./handle.ts";
import { sql } from "./statements.ts";

const countDelivery = sql(
  "redelivery.count",
  "UPDATE counterfoil_receipts SET deliveries = deliveries + 1 WHERE id = ? RETURNING deliveries",
);

const insertRedelivery = sql(
  "redelivery.insert",
  "INSERT INTO counterfoil_redeliveries (receipt_id, delivery, at, digest) VALUES (?, ?, ?, ?)",
);

// The primary key (receipt_id, digest) keeps each content once, and counts what is kept.
const insertMismatch = sql(
  "mismatch.insert",
  `INSERT INTO counterfoil_mismatches (receipt_id, digest, at, open, bytes, headers)
   SELECT ?1, ?2, ?3, 1, ?4, ?5 WHERE (SELECT count(*) FROM counterfoil_mismatches WHERE receipt_id = ?1) < ?6
   ON CONFLICT (receipt_id, digest) DO NOTHING`,
);

const addToTotal = sql(
  "redelivery.total",
  "UPDATE counterfoil_totals SET value = value + ? WHERE name = 'redeliveries'",
);

/** Counts each redelivery; the first ones of an event, and its first other contents, are kept one by one. */
export function recordRedeliveries(handle: Handle, redeliveries: readonly Redelivery[]): void {
  const { stamp, limits } = handle;
  let counted = 0;
  for (const { receiptId, mismatch } of redeliveries) {
    const row = handle.statement(countDelivery).get(receiptId) as { readonly deliveries: number } | undefined;
    if (!row) continue;
    counted += 1;
    if (row.deliveries - 1 <= limits.deliveriesKept) {
      handle.statement(insertRedelivery).run(receiptId, row.deliveries, stamp.wallMs, mismatch?.digest ?? null);
    }
    if (!mismatch) continue;
    const { digest, payload } = mismatch;
    handle
      .statement(insertMismatch)
      .run(receiptId, digest, stamp.wallMs, payload.bytes, payload.headers, limits.mismatchesKept);
  }
  if (counted > 0) handle.statement(addToTotal).run(counted);
}

// Index counterfoil_mismatches_open.
const acknowledge = sql(
  "mismatch.acknowledge",
  "UPDATE counterfoil_mismatches SET open = 0, bytes = NULL, headers = NULL WHERE receipt_id = ? AND open = 1",
);

/** Takes the other contents of an event off the operator's list and removes their bytes; gives their number. */
export function acknowledgeMismatches(handle: Handle, receiptId: number): number {
  return Number(handle.statement(acknowledge).run(receiptId).changes);
}
