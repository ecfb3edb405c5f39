/** Reads of the records beside events and obligations. */
import type { RecordedAudit, StoreReader } from "../reader.ts";
import type { RefusalFacts } from "../store.ts";
import type { ReadHandle } from "./handle.ts";
import { decodeRevision } from "./revision.ts";
import { sql } from "./statements.ts";

// Index counterfoil_audit_target.
const selectAudit = sql(
  "read.audit",
  "SELECT at, who, action, target, why, before, after FROM counterfoil_audit WHERE target = ? ORDER BY id",
);

export function auditOf(handle: ReadHandle, target: string): readonly RecordedAudit[] {
  return handle.statement(selectAudit).all(target) as unknown as readonly RecordedAudit[];
}

const selectRefusals = sql(
  "read.refusals",
  "SELECT at, connection, cause, facts FROM counterfoil_refusals ORDER BY id DESC LIMIT +?",
);

export function listRefusals(handle: ReadHandle, limit: number): readonly RefusalFacts[] {
  return handle.statement(selectRefusals).all(limit) as unknown as readonly RefusalFacts[];
}

const selectSnapshot = sql(
  "read.snapshot",
  "SELECT revision, digest, state FROM counterfoil_snapshots WHERE connection = ? AND account = ? AND kind = ? AND id = ?",
);

interface SnapshotRow {
  readonly revision: string;
  readonly digest: string;
  readonly state: string | null;
}

export function readSnapshot(
  handle: ReadHandle,
  { connection, account, kind, id }: Parameters<StoreReader["snapshot"]>[0],
): SnapshotRow | undefined {
  const row = handle.statement(selectSnapshot).get(connection, account, kind, id) as unknown as SnapshotRow | undefined;
  return row && { ...row, revision: decodeRevision(row.revision) };
}
