/**
 * The schema's migrations: numbered files, forward only. What ran is recorded with a checksum, so that
 * a file that was changed afterwards, or that a newer version brought, is recognised.
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { CounterfoilError } from "../../domain/errors.ts";
import type { Connection } from "./connection.ts";

export interface Migration {
  readonly number: number;
  readonly name: string;
  readonly text: string;
  readonly checksum: string;
  /** Older code cannot work with the schema that it leaves. */
  readonly breaking: boolean;
}

/** The files beside this one: sources in src/, copies in dist/. */
const folder = new URL("./migrations/", import.meta.url);

/** Reads the migrations that this version knows, in order. */
export function knownMigrations(from: URL = folder): readonly Migration[] {
  const names = readdirSync(from).filter((name) => /^\d{4}_.+\.sql$/.test(name));
  return names.toSorted().map((name) => {
    // A checkout may have changed the line ends; they are not what the checksum is about.
    const text = readFileSync(new URL(name, from), "utf8").replaceAll("\r\n", "\n");
    const checksum = createHash("sha256").update(text).digest("hex");
    return { number: Number(name.slice(0, 4)), name, text, checksum, breaking: /^--! breaking$/m.test(text) };
  });
}

interface Applied {
  readonly number: number;
  readonly name: string;
  readonly checksum: string;
  readonly breaking: number;
}

/**
 * Checks that the schema is the one this version needs.
 *
 * @throws CounterfoilError SCHEMA_OUTDATED or SCHEMA_NEWER.
 */
export function assertSchema(connection: Connection, known: readonly Migration[]): void {
  const missing = missingMigrations(connection, known);
  if (missing.length === 0) return;
  const names = missing.map(({ name }) => name).join(", ");
  throw new CounterfoilError(
    "SCHEMA_OUTDATED",
    `Cannot open the store: its schema lacks ${names}; run "counterfoil migrate"`,
  );
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
  return missingMigrations(connection, known).map(({ number, name, text, checksum, breaking }) => {
    insert.run(number, name, checksum, breaking ? 1 : 0, now);
    database.exec(text);
    return name;
  });
}

function missingMigrations({ database }: Connection, known: readonly Migration[]): readonly Migration[] {
  const applied = new Map(appliedMigrations(database).map((row) => [row.number, row]));
  for (const { number, name, breaking } of applied.values()) {
    if (breaking && !known.some((migration) => migration.number === number)) throw newer(`it has ${name}`);
  }
  return known.filter(({ number, name, checksum }) => {
    const row = applied.get(number);
    if (row && row.checksum !== checksum) throw newer(`its ${name} is another one`);
    return row === undefined;
  });
}

function appliedMigrations(database: Connection["database"]): readonly Applied[] {
  const exists = database.prepare(
    "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'counterfoil_migrations'",
  );
  if (!exists.get()) return [];
  const rows = database.prepare("SELECT number, name, checksum, breaking FROM counterfoil_migrations ORDER BY number");
  return rows.all() as unknown as readonly Applied[];
}

function newer(what: string): CounterfoilError {
  return new CounterfoilError(
    "SCHEMA_NEWER",
    `Cannot open the store: ${what}, which this version of counterfoil does not know; use the newer version`,
  );
}
