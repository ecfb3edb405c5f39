/** What a user's own statements spell differently on the two engines; all others are one text. */
import { engine } from "./engine.ts";

export interface RaisingTrigger {
  readonly table: string;
  readonly before: "INSERT" | "UPDATE";
  /** On the columns of NEW; every row unless given. */
  readonly when?: string;
  /**
   * How SQLite's error ends: with its statement, or with the whole transaction. PostgreSQL knows nothing
   * that a statement could do to a transaction but fail in it.
   */
  readonly ends?: "statement" | "transaction";
}

interface Dialect {
  /** The schema that unqualified names are in. */
  readonly schema: string;
  /** Orders rows as they were inserted, in a table that nothing is removed from. */
  readonly insertionOrder: string;
  /** What a statement says that names a table which is not there. */
  readonly missing: (table: string) => string;
  /** Statements after which writes to the table fail. */
  readonly raising: (trigger: RaisingTrigger) => readonly string[];
  /** Takes what `raising` made away from the table. */
  readonly mend: (table: string) => string;
  /** Statements that make a table `name (id, note)`, every insert into which says that the disk is full. */
  readonly full: (name: string) => readonly string[];
}

const sqlite: Dialect = {
  schema: "main",
  insertionOrder: "rowid",
  missing: (table) => `no such table: ${table}`,
  raising: ({ table, before, when, ends = "statement" }) => {
    const raise = ends === "statement" ? "ABORT" : "ROLLBACK";
    const trigger = `CREATE TRIGGER raising BEFORE ${before} ON ${table} ${when ? `WHEN ${when}` : ""}`;
    return [`${trigger} BEGIN SELECT RAISE(${raise}, 'injected'); END`];
  },
  mend: () => "DROP TRIGGER raising",
  full: (name) => [
    `CREATE TABLE ${name} (id INTEGER PRIMARY KEY AUTOINCREMENT, note TEXT)`,
    `INSERT INTO ${name} (id, note) VALUES (9223372036854775807, 'the last id')`,
  ],
};

const postgres: Dialect = {
  schema: "public",
  insertionOrder: "ctid",
  missing: (table) => `relation "${table}" does not exist`,
  raising: ({ table, before, when }) => [
    "CREATE FUNCTION raising() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'injected'; END $$",
    trigger("raising", { table, before, ...(when !== undefined && { when }) }),
  ],
  mend: (table) => `DROP TRIGGER raising ON ${table}`,
  full: (name) => [
    `CREATE TABLE ${name} (id bigint, note TEXT)`,
    "CREATE FUNCTION filled() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'full' USING ERRCODE = 'disk_full'; END $$",
    trigger("filled", { table: name, before: "INSERT" }),
  ],
};

function trigger(calls: string, { table, before, when }: RaisingTrigger): string {
  const condition = when ? `WHEN (${when})` : "";
  return `CREATE TRIGGER ${calls} BEFORE ${before} ON ${table} FOR EACH ROW ${condition} EXECUTE FUNCTION ${calls}()`;
}

export const dialect: Dialect = engine === "postgres" ? postgres : sqlite;
