import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Client } from "pg";
import { migratedDatabase } from "../../src/store/postgres/bundle.conformance.ts";
import { eventually } from "../../src/testing/eventually.ts";
import { memoryFolder } from "./memory-folder.ts";
import { ask, terminateBackends } from "./postgres-query.ts";
import { type PostgresDatabase, postgresServer } from "./postgres.ts";
import type { TemporaryDatabase } from "./temporary-database.ts";

const tables = "SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables";

/** A database on the run's newest server, with our schema in it unless it is a copy of another one. */
export async function postgresDatabase(source?: PostgresDatabase): Promise<TemporaryDatabase> {
  const database = source ?? (await migratedDatabase());
  const { url } = database;
  const folder = mkdtempSync(join(memoryFolder(), "counterfoil-"));
  const named = async (where: string): Promise<readonly string[]> =>
    (await ask<{ name: string }>(url, `${tables} WHERE ${where}`)).map(({ name }) => name);
  return {
    address: url,
    folder,
    run: (text) => ask(url, text),
    ourTables: () => named("schemaname = 'counterfoil'"),
    lock: async ({ reads = false } = {}) => {
      const names = await named("schemaname IN ('counterfoil', 'public')");
      return lockAll(url, `${names.join(", ")} IN ${reads ? "ACCESS EXCLUSIVE" : "EXCLUSIVE"} MODE`);
    },
    isIdle: async () => {
      const open = "backend_type = 'client backend' AND xact_start IS NOT NULL AND pid <> pg_backend_pid()";
      const found = await ask(url, `SELECT FROM pg_stat_activity WHERE datname = current_database() AND ${open}`);
      return found.length === 0;
    },
    copy: async () => {
      const { createDatabase } = await postgresServer();
      // A database is copied while nobody is connected; those who were come back.
      const copy = eventually(async () => {
        await terminateBackends(url);
        return createDatabase({ from: database.name });
      });
      return postgresDatabase(await copy);
    },
    [Symbol.asyncDispose]: async () => {
      rmSync(folder, { recursive: true, force: true });
      await database[Symbol.asyncDispose]();
    },
  };
}

/** As somebody does who changes the tables. Waits for no writer halfway, which might wait for this. */
async function lockAll(url: string, what: string): Promise<AsyncDisposable> {
  const client = new Client(url);
  client.on("error", () => undefined);
  await client.connect();
  await eventually(async () => {
    await client.query("BEGIN");
    try {
      return await client.query(`LOCK TABLE ${what} NOWAIT`);
    } catch (error) {
      await client.query("ROLLBACK");
      throw error;
    }
  });
  return {
    [Symbol.asyncDispose]: () => client.end(),
  };
}
