/** Snapshots under their guard, and the bounded records beside them: audit and refused deliveries. */
import type { AuditEntry, RefusalFacts, SnapshotDraft } from "../store.ts";
import type { Handle } from "./handle.ts";
import { encodeRevision } from "./revision.ts";
import { sql } from "./statements.ts";

// The guard is a predicate of the write: the primary key finds the row, the revision decides. An unknown
// revision is empty: before every other, and by somebody's word that which is kept.
const replaceSnapshot = sql(
  "snapshot.write",
  `INSERT INTO counterfoil_snapshots (connection, account, kind, id, revision, digest, state, updated_at)
   VALUES (?, ?, ?, ?, ?, ?, ?, ?)
   ON CONFLICT (connection, account, kind, id) DO UPDATE
   SET revision = max(excluded.revision, revision), digest = excluded.digest, state = excluded.state, updated_at = excluded.updated_at
   WHERE excluded.revision > revision
     OR (excluded.digest <> digest AND (excluded.revision = '' AND revision = ''
       OR ? AND (excluded.revision = revision OR excluded.revision = '')))`,
);

const selectSnapshot = sql(
  "snapshot.read",
  "SELECT revision, digest FROM counterfoil_snapshots WHERE connection = ? AND account = ? AND kind = ? AND id = ?",
);

/** Replaces a snapshot when the revision is newer; what was kept instead says how the new one relates to it. */
export function writeSnapshot(handle: Handle, draft: SnapshotDraft): "applied" | "stale" | "same" | "conflict" {
  const { connection, account, kind, id, digest, state, force } = draft;
  const revision = encodeRevision(draft.revision);
  const written = handle
    .statement(replaceSnapshot)
    .run(connection, account, kind, id, revision, digest, state, handle.stamp.wallMs, force ? 1 : 0);
  if (written.changes === 1) return "applied";
  const kept = handle.statement(selectSnapshot).get(connection, account, kind, id);
  if (kept?.["revision"] !== revision) return "stale";
  return kept["digest"] === digest ? "same" : "conflict";
}

const insertAudit = sql(
  "audit.insert",
  "INSERT INTO counterfoil_audit (at, who, action, target, why, before, after) VALUES (?, ?, ?, ?, ?, ?, ?)",
);

export function writeAudit(handle: Handle, { who, action, target, why, before, after }: AuditEntry): void {
  handle.statement(insertAudit).run(handle.stamp.wallMs, who, action, target, why, before, after);
}

const insertRefusal = sql(
  "refusal.insert",
  "INSERT INTO counterfoil_refusals (at, connection, cause, facts) VALUES (?, ?, ?, ?)",
);

const trimRefusals = sql(
  "refusal.trim",
  "DELETE FROM counterfoil_refusals WHERE id <= (SELECT max(id) FROM counterfoil_refusals) - ?",
);

/** Adds refused deliveries to the ring; the oldest go. */
export function recordRefusals(handle: Handle, refusals: readonly RefusalFacts[]): void {
  for (const { at, connection, cause, facts } of refusals) {
    handle.statement(insertRefusal).run(at, connection, cause, facts);
  }
  if (refusals.length > 0) handle.statement(trimRefusals).run(handle.limits.refusalsKept);
}

// A new value each time: SQLite writes no page for a row that stays the same.
const countTouch = sql(
  "touch.count",
  `INSERT INTO counterfoil_totals (name, value) VALUES ('touches', 1)
   ON CONFLICT (name) DO UPDATE SET value = value + 1`,
);

/** Makes the commit write to the disk. */
export function touch(handle: Handle): void {
  handle.statement(countTouch).run();
}
