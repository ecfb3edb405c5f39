/** Later deliveries of events that are known. */
import type { Redelivery } from "../store.ts";
import type { Handle } from "./handle.ts";
import { relation } from "./relation.ts";
import { sql } from "./statements.ts";
import { plain } from "./values.ts";

const deliveries = relation("g", { receipt_id: "int8", digest: "text" }, 2);

// Counted by upsert in the order of the ids; the first ones of an event are kept one by one. Nothing of
// the receipt is locked or rewritten.
const count = sql(
  "redelivery.count",
  `WITH given AS MATERIALIZED (
     SELECT g.* FROM ${deliveries.from} WHERE EXISTS (SELECT FROM counterfoil.receipts AS r WHERE r.id = g.receipt_id)),
   counted AS (
     INSERT INTO counterfoil.redelivered AS n (receipt_id, times)
     SELECT receipt_id, count(*) FROM given GROUP BY receipt_id ORDER BY receipt_id
     ON CONFLICT (receipt_id) DO UPDATE SET times = n.times + excluded.times
     RETURNING receipt_id, times),
   numbered AS (
     SELECT g.receipt_id, g.digest, c.times - row_number() OVER (PARTITION BY receipt_id ORDER BY g.ord DESC) + 1 AS number
     FROM given AS g JOIN counted AS c USING (receipt_id))
   INSERT INTO counterfoil.redeliveries (receipt_id, number, at, digest)
   SELECT receipt_id, number, $1, digest FROM numbered WHERE number <= $2`,
);

const contents = relation("g", { receipt_id: "int8", digest: "text", bytes: "bytea", headers: "text" }, 2);

// The primary key keeps each content once. The count above holds the row of the event, so that the
// number of its contents is nobody else's to change.
const keepMismatches = sql(
  "mismatch.insert",
  `WITH given AS (
     SELECT DISTINCT ON (receipt_id, digest) g.* FROM ${contents.from} ORDER BY receipt_id, digest, ord),
   news AS (
     SELECT g.*, row_number() OVER (PARTITION BY receipt_id ORDER BY ord) AS place,
       (SELECT count(*) FROM counterfoil.mismatches AS m WHERE m.receipt_id = g.receipt_id) AS kept
     FROM given AS g
     WHERE EXISTS (SELECT FROM counterfoil.redelivered AS n WHERE n.receipt_id = g.receipt_id)
       AND NOT EXISTS (
         SELECT FROM counterfoil.mismatches AS m WHERE m.receipt_id = g.receipt_id AND m.digest = g.digest))
   INSERT INTO counterfoil.mismatches (receipt_id, digest, at, open, bytes, headers)
   SELECT receipt_id, digest, $1, true, bytes, headers FROM news WHERE kept + place <= $2
   ON CONFLICT (receipt_id, digest) DO NOTHING`,
);

/** Counts each redelivery; the first ones of an event, and its first other contents, are kept one by one. */
export async function recordRedeliveries(handle: Handle, redeliveries: readonly Redelivery[]): Promise<void> {
  if (redeliveries.length === 0) return;
  const { stamp, limits } = handle;
  await handle.run(count, [
    stamp.wallMs,
    limits.deliveriesKept,
    ...deliveries.values(
      redeliveries.map(({ receiptId, mismatch }) => ({ receipt_id: receiptId, digest: mismatch?.digest ?? null })),
    ),
  ]);
  const mismatches = redeliveries.flatMap(({ receiptId, mismatch }) =>
    mismatch === null
      ? []
      : [
          {
            receipt_id: receiptId,
            digest: mismatch.digest,
            bytes: mismatch.payload.bytes,
            headers: plain(mismatch.payload.headers),
          },
        ],
  );
  if (mismatches.length === 0) return;
  await handle.run(keepMismatches, [stamp.wallMs, limits.mismatchesKept, ...contents.values(mismatches)]);
}

// Index mismatches_open.
const acknowledge = sql(
  "mismatch.acknowledge",
  `UPDATE counterfoil.mismatches SET open = false, bytes = NULL, headers = NULL
   WHERE receipt_id = $1 AND open RETURNING digest`,
);

/** Takes the other contents of an event off the operator's list and removes their bytes; gives their number. */
export async function acknowledgeMismatches(handle: Handle, receiptId: number): Promise<number> {
  return (await handle.run(acknowledge, [receiptId])).length;
}
