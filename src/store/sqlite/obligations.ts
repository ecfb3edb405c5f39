/** Owing: one obligation for each operation key of a tenant, with its frozen request. */
import type { Obligation } from "../../domain/obligation.ts";
import { toObligation, type ObligationRow } from "../rows.ts";
import type { ObligationDraft, OwedObligation } from "../store.ts";
import type { Handle } from "./handle.ts";
import { obligationColumns } from "./rows.ts";
import { sql } from "./statements.ts";

// The unique index on (tenant, operation_key) decides.
const insertObligation = sql(
  "obligation.insert",
  `INSERT INTO counterfoil_obligations (tenant, operation_key, effect, destination, connection, account, receipt_id,
     input_digest, state, reached, fence, generation, tries, lookups, crashes, created_at, updated_at, due_at)
   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 'owed', 'no', 0, 1, 0, 0, 0, ?9, ?9, ?9)
   ON CONFLICT (tenant, operation_key) DO NOTHING`,
);

const insertRequest = sql(
  "request.insert",
  `INSERT INTO counterfoil_requests (obligation_id, method, url, content_type, body, digest, input)
   VALUES (?, ?, ?, ?, ?, ?, ?)`,
);

const selectOwed = sql(
  "obligation.owed",
  "SELECT id, effect, input_digest FROM counterfoil_obligations WHERE tenant = ? AND operation_key = ?",
);

/** Owes each draft in turn, so that a key that repeats meets its first use. */
export function oweObligations(handle: Handle, drafts: readonly ObligationDraft[]): OwedObligation[] {
  return drafts.map((draft) => oweObligation(handle, draft));
}

function oweObligation(handle: Handle, draft: ObligationDraft): OwedObligation {
  const { tenant, operationKey, effect, destination, connection, account, receiptId, inputDigest, request } = draft;
  const inserted = handle
    .statement(insertObligation)
    .run(tenant, operationKey, effect, destination, connection, account, receiptId, inputDigest, handle.stamp.wallMs);
  if (inserted.changes === 1) {
    const id = Number(inserted.lastInsertRowid);
    const { method, url, contentType, body } = request;
    handle.statement(insertRequest).run(id, method, url, contentType, body, draft.requestDigest, draft.input);
    return { kind: "created", id };
  }
  const row = handle.statement(selectOwed).get(tenant, operationKey) as unknown as OwedRow;
  const same = row.effect === effect && row.input_digest === inputDigest;
  return { kind: same ? "same" : "conflict", id: row.id };
}

interface OwedRow {
  readonly id: number;
  readonly effect: string;
  readonly input_digest: string;
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

const pause = sql(
  "destination.pause",
  `INSERT INTO counterfoil_destinations (destination, paused_reason, updated_at) VALUES (?, ?, ?)
   ON CONFLICT (destination) DO UPDATE SET paused_reason = excluded.paused_reason, updated_at = excluded.updated_at`,
);

/** Pauses a destination for a reason, or resumes it. */
export function pauseDestination(handle: Handle, destination: string, reason: string | null): void {
  handle.statement(pause).run(destination, reason, handle.stamp.wallMs);
}
