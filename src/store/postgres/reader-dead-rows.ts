/**
 * Dead rows, and who keeps them. Every update and removal leaves one, which vacuum can take away only when no
 * state that somebody holds has it: a report that runs for hours, a forgotten session or prepared
 * transaction, a replication slot without its replica. Until then whatever reads a table or an index
 * steps over them.
 */
import type { DeadRows, SnapshotHolder } from "../reader.ts";
import type { ReadHandle } from "./handle.ts";
import { sql } from "./statements.ts";

const countDead = sql(
  "read.count-dead",
  `SELECT coalesce(sum(s.n_dead_tup), 0)::bigint AS count FROM pg_stat_all_tables AS s JOIN pg_class AS c ON c.oid = s.relid
   WHERE c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'counterfoil.progress'::regclass)`,
);

// Whatever holds back the server's oldest snapshot for this database. Vacuums hold nothing back; those
// that run by themselves have no user. Since when another role's transaction runs, and in what kind of
// process, is told only to who may know; how old it is, to everybody.
const selectHolders = sql(
  "read.snapshot-holders",
  `WITH holder AS (
     SELECT CASE backend_type WHEN 'walsender' THEN 'replica' ELSE 'transaction' END AS kind,
       format('process %s, %s', pid, coalesce(nullif(application_name, ''), usename)) AS name,
       xact_start AS since, greatest(age(backend_xmin), age(backend_xid)) AS transactions
     FROM pg_stat_activity AS a
     WHERE (datname = current_database() OR backend_type = 'walsender') AND pid <> pg_backend_pid()
       AND usesysid IS NOT NULL AND backend_type IS DISTINCT FROM 'parallel worker'
       AND NOT EXISTS (SELECT FROM pg_stat_progress_vacuum AS v WHERE v.pid = a.pid)
     UNION ALL
     SELECT 'prepared', gid, prepared, age(transaction) FROM pg_prepared_xacts WHERE database = current_database()
     UNION ALL
     SELECT 'slot', slot_name, NULL, age(xmin) FROM pg_replication_slots)
   SELECT kind, name, floor(extract(epoch FROM since) * 1000)::bigint AS since, transactions FROM holder
   WHERE transactions IS NOT NULL ORDER BY transactions DESC, since LIMIT 20`,
);

/** An estimate of our dead rows, and whoever holds an old state at this moment. */
export async function readDeadRows(handle: ReadHandle): Promise<DeadRows> {
  const [dead] = await handle.run<{ readonly count: number }>(countDead, []);
  return { count: dead?.count ?? 0, keptBy: await handle.run<SnapshotHolder>(selectHolders, []) };
}
