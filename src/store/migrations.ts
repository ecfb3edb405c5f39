/**
 * Migrations of a schema: numbered files, forward only. What ran is recorded with a checksum, so that a
 * file that was changed afterwards, or that a newer version brought, is recognised.
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { CounterfoilError } from "../domain/errors.ts";
import { assertUsable, isMark } from "./marks.ts";

export interface Migration {
  readonly number: number;
  readonly name: string;
  readonly text: string;
  readonly checksum: string;
  /** Older code cannot work with the schema that it leaves. */
  readonly breaking: boolean;
}

/** A migration that ran, as the database records it. */
export type AppliedMigration = Pick<Migration, "number" | "name" | "checksum" | "breaking">;

/** Reads a folder's migrations, in order. */
export function readMigrations(folder: URL): readonly Migration[] {
  const names = readdirSync(folder).filter((name) => /^\d{4}_.+\.sql$/.test(name));
  return names.toSorted().map((name) => {
    // A checkout may have changed the line ends; they are not what the checksum is about.
    const text = readFileSync(new URL(name, folder), "utf8").replaceAll("\r\n", "\n");
    const checksum = createHash("sha256").update(text).digest("hex");
    return { number: Number(name.slice(0, 4)), name, text, checksum, breaking: /^--! breaking$/m.test(text) };
  });
}

/**
 * Those of the known migrations that have not run.
 *
 * @throws CounterfoilError SCHEMA_NEWER where one ran that this version does not know and cannot do with.
 */
export function missingMigrations(
  applied: readonly AppliedMigration[],
  known: readonly Migration[],
): readonly Migration[] {
  const byNumber = new Map(applied.map((row) => [row.number, row]));
  for (const { number, name, breaking } of applied.filter((row) => !isMark(row))) {
    if (breaking && !known.some((migration) => migration.number === number)) throw newer(`it has ${name}`);
  }
  return known.filter(({ number, name, checksum }) => {
    const row = byNumber.get(number);
    if (row && row.checksum !== checksum) throw newer(`its ${name} is another one`);
    return row === undefined;
  });
}

/**
 * Checks that the schema is the one this version needs, and that the store may be used.
 *
 * @throws CounterfoilError SCHEMA_OUTDATED or SCHEMA_NEWER; STORE_MOVED or STORE_INCOMPLETE.
 */
export function assertMigrated(applied: readonly AppliedMigration[], known: readonly Migration[]): void {
  assertUsable(applied);
  const missing = missingMigrations(applied, known);
  if (missing.length === 0) return;
  const names = missing.map(({ name }) => name).join(", ");
  throw new CounterfoilError(
    "SCHEMA_OUTDATED",
    `Cannot open the store: its schema lacks ${names}; run "counterfoil migrate"`,
  );
}

function newer(what: string): CounterfoilError {
  return new CounterfoilError(
    "SCHEMA_NEWER",
    `Cannot open the store: ${what}, which this version of counterfoil does not know; use the newer version`,
  );
}
