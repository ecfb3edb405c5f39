/** Owing: one obligation for each operation key of a tenant, with its frozen request. */
import type { FrozenRequest, Obligation } from "../../domain/obligation.ts";
import { toObligation, type ObligationRow } from "../rows.ts";
import { neverOwed, type ObligationDraft, type OwedObligation, type Tombstone } from "../store.ts";
import { freeNext } from "./effect-orders.ts";
import type { Handle } from "./handle.ts";
import { obligationColumns } from "./rows.ts";
import { sql } from "./statements.ts";

// The unique index on (tenant, operation_key) decides.
const insertObligation = sql(
  "obligation.insert",
  `INSERT INTO counterfoil_obligations (tenant, operation_key, effect, destination, connection, account, receipt_id,
     input_digest, state, reached, fence, generation, tries, lookups, crashes, created_at, updated_at, order_key,
     not_before, due_at)
   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 'owed', 'no', 0, 1, 0, 0, 0, ?9, ?9, ?10, ?11,
     CASE WHEN ?10 IS NULL THEN max(?9, coalesce(?11, ?9)) END)
   ON CONFLICT (tenant, operation_key) DO NOTHING`,
);

const insertRequest = sql(
  "request.insert",
  `INSERT INTO counterfoil_requests (obligation_id, method, url, content_type, body, digest, input)
   VALUES (?, ?, ?, ?, ?, ?, ?)`,
);

const selectOwed = sql(
  "obligation.owed",
  `SELECT id, effect, input_digest, state = 'withdrawn' OR (cancel_requested = 1 AND state <> 'done') AS withdrawn
   FROM counterfoil_obligations WHERE tenant = ? AND operation_key = ?`,
);

/** Owes each draft in turn, so that a key that repeats meets its first use. */
export function oweObligations(handle: Handle, drafts: readonly ObligationDraft[]): OwedObligation[] {
  return drafts.map((draft) => oweObligation(handle, draft));
}

function oweObligation(handle: Handle, draft: ObligationDraft): OwedObligation {
  const { tenant, operationKey, effect, destination, connection, account, receiptId, inputDigest, request } = draft;
  const scope = [tenant, operationKey, effect, destination, connection, account, receiptId, inputDigest] as const;
  const inserted = handle
    .statement(insertObligation)
    .run(...scope, handle.stamp.wallMs, draft.orderKey, draft.notBefore);
  if (inserted.changes === 1) {
    const id = Number(inserted.lastInsertRowid);
    const { method, url, contentType, body } = request;
    handle.statement(insertRequest).run(id, method, url, contentType, body, draft.requestDigest, draft.input);
    if (draft.orderKey !== null) freeNext(handle, draft.orderKey);
    return { kind: "created", id };
  }
  const row = handle.statement(selectOwed).get(tenant, operationKey) as unknown as OwedRow;
  if (row.withdrawn === 1) return { kind: "withdrawn", id: row.id };
  const same = row.effect === effect && row.input_digest === inputDigest;
  return { kind: same ? "same" : "conflict", id: row.id };
}

interface OwedRow {
  readonly id: number;
  readonly effect: string;
  readonly input_digest: string;
  readonly withdrawn: number;
}

const insertTombstone = sql(
  "obligation.bury",
  `INSERT INTO counterfoil_obligations (tenant, operation_key, effect, destination, connection, account, receipt_id,
     input_digest, state, reached, fence, generation, tries, lookups, crashes, created_at, updated_at, reason)
   VALUES (?1, ?2, '', '', ?3, ?4, ?5, '', 'withdrawn', 'no', 0, 1, 0, 0, 0, ?6, ?6, ?7)
   ON CONFLICT (tenant, operation_key) DO NOTHING`,
);

/** Keeps an operation as withdrawn that nobody owes. */
export function buryOperation(
  handle: Handle,
  { tenant, operationKey, connection, account, receiptId }: Tombstone,
): boolean {
  const scope = [tenant, operationKey, connection, account, receiptId] as const;
  return handle.statement(insertTombstone).run(...scope, handle.stamp.wallMs, neverOwed).changes === 1;
}

const writeCancelRequest = sql(
  "obligation.request-cancel",
  `UPDATE counterfoil_obligations SET cancel_requested = 1,
     due_at = CASE WHEN state = 'owed' THEN min(due_at, ?1) ELSE due_at END WHERE id = ?2`,
);

/** Notes that no new attempt may begin. */
export function requestCancel(handle: Handle, obligationId: number): void {
  handle.statement(writeCancelRequest).run(handle.stamp.wallMs, obligationId);
}

const selectCancelRequested = sql(
  "obligation.cancel-requested",
  "SELECT 1 FROM counterfoil_obligations WHERE id = ? AND cancel_requested = 1",
);

/** Those of these for which that was asked. */
export function cancelRequested(handle: Handle, obligationIds: readonly number[]): ReadonlySet<number> {
  return new Set(obligationIds.filter((id) => handle.statement(selectCancelRequested).get(id) !== undefined));
}

const selectByKey = sql(
  "obligation.lock",
  `SELECT ${obligationColumns} FROM counterfoil_obligations AS o WHERE tenant = ? AND operation_key = ?`,
);

/** One obligation; the transaction's write lock is its lock. */
export function lockObligation(handle: Handle, tenant: string, operationKey: string): Obligation | undefined {
  const row = handle.statement(selectByKey).get(tenant, operationKey);
  return row && toObligation(row as unknown as ObligationRow);
}

const replaceRequest = sql(
  "request.replace",
  "UPDATE counterfoil_requests SET method = ?, url = ?, content_type = ?, body = ?, digest = ? WHERE obligation_id = ?",
);

/** Replaces what is sent for an obligation. */
export function amendRequest(handle: Handle, id: number, request: FrozenRequest & { readonly digest: string }): void {
  const { method, url, contentType, body, digest } = request;
  handle.statement(replaceRequest).run(method, url, contentType, body, digest, id);
}

const pause = sql(
  "destination.pause",
  `INSERT INTO counterfoil_destinations (destination, paused_reason, updated_at) VALUES (?, ?, ?)
   ON CONFLICT (destination) DO UPDATE SET paused_reason = excluded.paused_reason, updated_at = excluded.updated_at`,
);

/** Pauses a destination for a reason, or resumes it. */
export function pauseDestination(handle: Handle, destination: string, reason: string | null): void {
  handle.statement(pause).run(destination, reason, handle.stamp.wallMs);
}
