/** The schema's migrations in a SQLite file. */
import {
  assertMigrated,
  type AppliedMigration,
  missingMigrations,
  type Migration,
  readMigrations,
} from "../migrations.ts";
import type { Connection } from "./connection.ts";

/** The files beside this one: sources in src/, copies in dist/. */
const folder = new URL("./migrations/", import.meta.url);

/** The migrations that this version knows, in order. */
export function knownMigrations(): readonly Migration[] {
  return readMigrations(folder);
}

/** Checks that the schema is the one this version needs. */
export function assertSchema({ database }: Pick<Connection, "database">, known: readonly Migration[]): void {
  assertMigrated(appliedMigrations(database), known);
}

/** Runs what is missing, inside the caller's transaction; gives the names. */
export function migrateSchema(
  connection: Connection,
  { known, now }: { readonly known: readonly Migration[]; readonly now: number },
): string[] {
  const { database } = connection;
  database.exec(`CREATE TABLE IF NOT EXISTS counterfoil_migrations (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, breaking INTEGER NOT NULL,
    applied_at INTEGER NOT NULL
  ) STRICT`);
  const insert = database.prepare("INSERT INTO counterfoil_migrations VALUES (?, ?, ?, ?, ?)");
  return missingMigrations(appliedMigrations(database), known).map(({ number, name, text, checksum, breaking }) => {
    insert.run(number, name, checksum, breaking ? 1 : 0, now);
    database.exec(text);
    return name;
  });
}

function appliedMigrations(database: Connection["database"]): readonly AppliedMigration[] {
  const exists = database.prepare(
    "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'counterfoil_migrations'",
  );
  if (!exists.get()) return [];
  const rows = database.prepare("SELECT number, name, checksum, breaking FROM counterfoil_migrations ORDER BY number");
  return rows.all().map((row) => ({ ...(row as unknown as AppliedMigration), breaking: row["breaking"] === 1 }));
}
