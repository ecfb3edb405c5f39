/**
 * Where a contender keeps its data: a folder of its own for SQLite, a database of its own on the
 * bench's server for PostgreSQL. A contender is told which by its first argument.
 */
import { join } from "node:path";
import type { Store } from "counterfoil";
import { postgres } from "counterfoil/postgres";
import { sqlite } from "counterfoil/sqlite";
import { dataFolder } from "./data-folder.ts";
import { startPostgres } from "./postgres.ts";

export const storeKinds = ["sqlite", "postgres"] as const;
export type StoreKind = (typeof storeKinds)[number];

export interface Place extends AsyncDisposable {
  /** The path of a folder, or the address of a database. */
  readonly where: string;
}

/** Gives a new place to every run; disposed of as a whole when all have ended. */
export interface Places extends AsyncDisposable {
  make(): Promise<Place>;
}

/** Places of a kind, with the server that they need. */
export async function places(kind: StoreKind): Promise<Places> {
  if (kind === "sqlite") return { make: folderPlace, [Symbol.asyncDispose]: async () => undefined };
  const server = await startPostgres();
  return {
    async make() {
      const database = await server.createDatabase();
      return { where: database.url, [Symbol.asyncDispose]: () => database[Symbol.asyncDispose]() };
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** Whether a contender's first argument is the address of a database on a server. */
export function isAddress(where: string): boolean {
  return where.startsWith("postgres://");
}

/** Counterfoil's own store at a place, with nothing tuned. */
export function storeAt(where: string): Store {
  return isAddress(where) ? postgres(where) : sqlite(join(where, "bench.db"));
}

async function folderPlace(): Promise<Place> {
  const folder = dataFolder();
  return { where: folder.path, [Symbol.asyncDispose]: async () => folder[Symbol.dispose]() };
}
