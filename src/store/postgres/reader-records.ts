/** Reads of the records beside events and obligations. */
import type { RecordedAudit, StoreReader } from "../reader.ts";
import { unknownRevision } from "../store.ts";
import type { RefusalFacts } from "../store.ts";
import type { ReadHandle } from "./handle.ts";
import { sql } from "./statements.ts";

// Index audit_target.
const selectAudit = sql(
  "read.audit",
  "SELECT at, who, action, target, why, before, after FROM counterfoil.audit WHERE target = $1 ORDER BY id",
);

export function auditOf(handle: ReadHandle, target: string): Promise<readonly RecordedAudit[]> {
  return handle.run<RecordedAudit>(selectAudit, [target]);
}

const selectRefusals = sql(
  "read.refusals",
  "SELECT at, connection, cause, facts FROM counterfoil.refusals ORDER BY id DESC LIMIT $1",
);

export function listRefusals(handle: ReadHandle, limit: number): Promise<readonly RefusalFacts[]> {
  return handle.run<RefusalFacts>(selectRefusals, [limit]);
}

const selectSnapshot = sql(
  "read.snapshot",
  `SELECT revision::text, digest, state FROM counterfoil.snapshots
   WHERE connection = $1 AND account = $2 AND kind = $3 AND id = $4`,
);

interface SnapshotRow {
  readonly revision: string;
  readonly digest: string;
  readonly state: string | null;
}

export async function readSnapshot(
  handle: ReadHandle,
  { connection, account, kind, id }: Parameters<StoreReader["snapshot"]>[0],
): Promise<SnapshotRow | undefined> {
  const [row] = await handle.run<SnapshotRow>(selectSnapshot, [connection, account, kind, id]);
  return row && { ...row, revision: row.revision === "-Infinity" ? unknownRevision : row.revision };
}
