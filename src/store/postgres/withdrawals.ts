/** Taking back what is owed: tombstones, and requests that no new attempt begin. */
import { neverOwed, type Tombstone } from "../store.ts";
import type { Handle } from "./handle.ts";
import { sql } from "./statements.ts";

const insertTombstone = sql(
  "obligation.bury",
  `WITH buried AS (
     INSERT INTO counterfoil.obligations (tenant, operation_key, effect, destination, connection, account, receipt_id,
       input_digest, created_at)
     VALUES ($2, $3, '', '', $4, $5, $6::bigint, '', $1::bigint)
     ON CONFLICT (tenant, operation_key) DO NOTHING
     RETURNING id),
   kept AS (
     INSERT INTO counterfoil.progress (obligation_id, effect, destination, state, reached, fence, generation, tries,
       lookups, crashes, updated_at, reason)
     SELECT id, '', '', 'withdrawn', 'no', 0, 1, 0, 0, 0, $1::bigint, $7 FROM buried)
   SELECT id FROM buried`,
);

/** Keeps an operation as withdrawn that nobody owes. */
export async function buryOperation(
  handle: Handle,
  { tenant, operationKey, connection, account, receiptId }: Tombstone,
): Promise<boolean> {
  const scope = [tenant, operationKey, connection, account, receiptId];
  return (await handle.run(insertTombstone, [handle.stamp.wallMs, ...scope, neverOwed])).length === 1;
}

const writeCancelRequest = sql(
  "obligation.request-cancel",
  `UPDATE counterfoil.progress SET cancel_requested = true,
     due_at = CASE WHEN state = 'owed' AND due_at IS NOT NULL THEN least(due_at, $1) ELSE due_at END WHERE obligation_id = $2`,
);

/** Notes that no new attempt may begin. */
export async function requestCancel(handle: Handle, obligationId: number): Promise<void> {
  await handle.run(writeCancelRequest, [handle.stamp.wallMs, obligationId]);
  handle.say({ owed: true });
}

const selectCancelRequested = sql(
  "obligation.cancel-requested",
  "SELECT obligation_id AS id FROM counterfoil.progress WHERE obligation_id = ANY ($1::bigint[]) AND cancel_requested",
);

/** Those of these for which that was asked. */
export async function cancelRequested(handle: Handle, obligationIds: readonly number[]): Promise<ReadonlySet<number>> {
  const rows = await handle.run<{ readonly id: number }>(selectCancelRequested, [obligationIds]);
  return new Set(rows.map(({ id }) => id));
}
