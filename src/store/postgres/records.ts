/** Snapshots under their guard, and the bounded records beside them: audit and refused deliveries. */
import { type AuditEntry, type RefusalFacts, type SnapshotDraft, unknownRevision } from "../store.ts";
import type { Handle } from "./handle.ts";
import { relation } from "./relation.ts";
import { sql, steadySql } from "./statements.ts";
import { plain } from "./values.ts";

// The guard is a predicate of the write: the primary key finds the row, the revision decides. An unknown
// revision is before every other, and by somebody's word that which is kept. A write
// that changes nothing holds the row all the same, so that the look after it sees what decided.
const replaceSnapshot = steadySql(
  "snapshot.write",
  `INSERT INTO counterfoil.snapshots AS s (connection, account, kind, id, revision, digest, state, updated_at)
   VALUES ($1, $2, $3, $4, $5::numeric, $6, $7, $8)
   ON CONFLICT (connection, account, kind, id) DO UPDATE
   SET revision = greatest(excluded.revision, s.revision), digest = excluded.digest, state = excluded.state, updated_at = excluded.updated_at
   WHERE excluded.revision > s.revision
     OR (excluded.digest <> s.digest AND (excluded.revision = '-Infinity' AND s.revision = '-Infinity'
       OR $9 AND (excluded.revision = s.revision OR excluded.revision = '-Infinity')))
   RETURNING 1`,
);

const compareSnapshot = sql(
  "snapshot.read",
  `SELECT revision = $5::numeric AS tie, digest FROM counterfoil.snapshots
   WHERE connection = $1 AND account = $2 AND kind = $3 AND id = $4`,
);

/** Replaces a snapshot when the revision is newer; what was kept instead says how the new one relates to it. */
export async function writeSnapshot(
  handle: Handle,
  draft: SnapshotDraft,
): Promise<"applied" | "stale" | "same" | "conflict"> {
  const { connection, account, kind, id, revision, digest, state, force } = draft;
  const key = [connection, account, kind, id, revision === unknownRevision ? "-Infinity" : revision];
  const written = await handle.run(replaceSnapshot, [...key, digest, state, handle.stamp.wallMs, force]);
  if (written.length === 1) return "applied";
  const [kept] = await handle.run<{ tie: boolean; digest: string }>(compareSnapshot, key);
  if (!kept?.tie) return "stale";
  return kept.digest === digest ? "same" : "conflict";
}

const insertAudit = steadySql(
  "audit.insert",
  "INSERT INTO counterfoil.audit (at, who, action, target, why, before, after) VALUES ($1, $2, $3, $4, $5, $6, $7)",
);

export async function writeAudit(handle: Handle, entry: AuditEntry): Promise<void> {
  const { who, action, target, why, before, after } = entry;
  const texts = [who, action, target, why, before, after].map(plain);
  await handle.run(insertAudit, [handle.stamp.wallMs, ...texts]);
}

const given = relation("g", { at: "int8", connection: "text", cause: "text", facts: "text" });

const insertRefusals = sql(
  "refusal.insert",
  `INSERT INTO counterfoil.refusals (at, connection, cause, facts)
   SELECT at, connection, cause, facts FROM ${given.from} ORDER BY ord`,
);

// Oldest first, so that two processes that trim at once do it in one order.
const trimRefusals = sql(
  "refusal.trim",
  `WITH oldest AS MATERIALIZED (
     SELECT id FROM counterfoil.refusals
     WHERE id <= (SELECT id FROM counterfoil.refusals ORDER BY id DESC OFFSET $1 LIMIT 1)
     ORDER BY id FOR UPDATE SKIP LOCKED)
   DELETE FROM counterfoil.refusals AS r USING oldest WHERE r.id = oldest.id`,
);

/** Adds refused deliveries to the ring; the oldest go. */
export async function recordRefusals(handle: Handle, refusals: readonly RefusalFacts[]): Promise<void> {
  if (refusals.length === 0) return;
  await handle.run(insertRefusals, given.values(refusals.map((each) => ({ ...each, facts: plain(each.facts) }))));
  await handle.run(trimRefusals, [handle.limits.refusalsKept]);
}

// One of a few rows, so that processes seldom wait for each other.
const writeTouch = steadySql(
  "touch.write",
  `INSERT INTO counterfoil.touches (slot, at) VALUES (pg_backend_pid() % 16, $1)
   ON CONFLICT (slot) DO UPDATE SET at = excluded.at`,
);

/** Makes the commit write to the log, and wait for whoever has to confirm it. */
export async function touch(handle: Handle): Promise<void> {
  await handle.run(writeTouch, [handle.stamp.wallMs]);
}
