/** The schema's migrations in a PostgreSQL database. */
import {
  assertMigrated,
  type AppliedMigration,
  missingMigrations,
  type Migration,
  readMigrations,
} from "../migrations.ts";
import type { ReadHandle } from "./handle.ts";
import { lockKey } from "./open-receipts.ts";
import { inSchema, quoted, sql } from "./statements.ts";
import { tableLockMs } from "./until-migrated.ts";

/** The files beside this one: sources in src/, copies in dist/. */
const folder = new URL("./migrations/", import.meta.url);

/** The migrations that this version knows, in order. */
export function knownMigrations(): readonly Migration[] {
  return readMigrations(folder);
}

type Handle = Pick<ReadHandle, "run" | "runText">;

const findTable = sql("migration.table", "SELECT to_regclass($1) IS NOT NULL AS found");
const findSchema = sql("migration.schema", "SELECT 1 FROM pg_namespace WHERE nspname = $1");
const selectApplied = sql(
  "migration.applied",
  "SELECT number, name, checksum, breaking FROM counterfoil.migrations ORDER BY number",
);
const insertApplied = sql(
  "migration.insert",
  "INSERT INTO counterfoil.migrations (number, name, checksum, breaking, applied_at) VALUES ($1, $2, $3, $4, $5)",
);
const lock = sql("migration.lock", "SELECT pg_advisory_xact_lock($1::bigint)");

const createTable = `CREATE TABLE IF NOT EXISTS counterfoil.migrations (
  number integer PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, breaking boolean NOT NULL,
  applied_at bigint NOT NULL)`;

/** Checks that the schema is the one this version needs. */
export async function assertSchema(
  handle: Handle,
  { schema, known }: { readonly schema: string; readonly known: readonly Migration[] },
): Promise<void> {
  assertMigrated(await appliedMigrations(handle, schema), known);
}

interface MigrateOptions {
  readonly schema: string;
  readonly known: readonly Migration[];
  readonly now: number;
}

/**
 * Runs what is missing, inside the caller's transaction and under a lock that ends with it; gives the
 * names. Of several processes that migrate at once one does it, and the others find it done.
 */
export async function migrateSchema(handle: Handle, { schema, known, now }: MigrateOptions): Promise<string[]> {
  await handle.run(lock, [String(lockKey([schema, "migrate"]))]);
  // Whoever may not create schemas can have it created for them.
  const isThere = (await handle.run(findSchema, [schema])).length > 0;
  if (!isThere) await handle.runText(`CREATE SCHEMA ${quoted(schema)}`, []);
  await handle.runText(inSchema(createTable, schema), []);
  const missing = missingMigrations(await appliedMigrations(handle, schema), known);
  // Others who migrate are waited for patiently, tables that are in use are not.
  await handle.runText(`SET LOCAL lock_timeout = ${tableLockMs}`, []);
  for (const { number, name, text, checksum, breaking } of missing) {
    await handle.run(insertApplied, [number, name, checksum, breaking, now]);
    await handle.runText(inSchema(text, schema), []);
  }
  return missing.map(({ name }) => name);
}

async function appliedMigrations(handle: Handle, schema: string): Promise<readonly AppliedMigration[]> {
  const [table] = await handle.run<{ found: boolean }>(findTable, [`${quoted(schema)}.migrations`]);
  return table?.found ? handle.run<AppliedMigration>(selectApplied, []) : [];
}
