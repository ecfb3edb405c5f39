import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { memoryFolder } from "./memory-folder.ts";
import type { TemporaryDatabase, TemporaryDatabaseOptions } from "./temporary-database.ts";

/** How long a look from outside waits for the file's lock. */
const timeout = 30_000;

/** A file in a folder of its own. */
export async function sqliteDatabase(
  { inMemory = false }: TemporaryDatabaseOptions,
  fill: (path: string) => void = () => undefined,
): Promise<TemporaryDatabase> {
  const folder = mkdtempSync(join(inMemory ? memoryFolder() : tmpdir(), "counterfoil-"));
  const path = join(folder, "test.db");
  fill(path);
  const run: TemporaryDatabase["run"] = async (text) => {
    using database = new DatabaseSync(path, { timeout });
    return database.prepare(text).all();
  };
  return {
    address: path,
    folder,
    run,
    ourTables: async () => {
      const tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'counterfoil%'";
      return (await run(tables)).map(({ name }) => String(name));
    },
    lock: async () => {
      const holder = new DatabaseSync(path, { timeout });
      holder.exec("BEGIN IMMEDIATE");
      return {
        [Symbol.asyncDispose]: async () => holder[Symbol.dispose](),
      };
    },
    // The log can be cut only where no connection reads either.
    isIdle: async () => {
      using database = new DatabaseSync(path, { timeout });
      return database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get()?.["busy"] === 0;
    },
    copy: () =>
      sqliteDatabase({ inMemory }, (to) => {
        using database = new DatabaseSync(path, { timeout });
        database.prepare("VACUUM INTO ?").run(to);
      }),
    [Symbol.asyncDispose]: async () => rmSync(folder, { recursive: true, force: true }),
  };
}
