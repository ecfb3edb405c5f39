/** Both sides of a copy for a test: a file with a store, a database without one, and the copy between them. */
import { sqlite } from "counterfoil/sqlite";
import { onTestFinished } from "vitest";
import { type CopyOptions, type CopyReport, copyStore } from "../../src/copy/copy-store.ts";
import type { Clock } from "../../src/domain/clock.ts";
import type { Probe } from "../../src/domain/probe.ts";
import { systemClock } from "../../src/domain/system-clock.ts";
import { storeAt as serverStoreAt } from "../../src/store/postgres/bundle.conformance.ts";
import { CopyTarget } from "../../src/store/postgres/copy-target.ts";
import { CopySource } from "../../src/store/sqlite/copy-source.ts";
import type { Store } from "../../src/store/store.ts";
import { postgresServer, type PostgresServer } from "../support/postgres.ts";
import { sqliteDatabase } from "../support/sqlite-database.ts";

export interface Sides {
  readonly path: string;
  readonly url: string;
  readonly clock: Clock;
  /** The store in the file, open. */
  readonly file: Store;
  /** A store on the server, to be opened by the test. */
  readonly server: () => Store;
}

export interface SidesOptions {
  readonly clock?: Clock;
  readonly server?: PostgresServer;
}

/** An open store in a new file, and an empty database; both go with the test that runs. */
export async function copySides({ clock = systemClock(), server }: SidesOptions = {}): Promise<Sides> {
  const database = await sqliteDatabase({ inMemory: true });
  onTestFinished(() => database[Symbol.asyncDispose]());
  const target = await (server ?? (await postgresServer())).createDatabase();
  onTestFinished(() => target[Symbol.asyncDispose]());
  const file = sqlite(database.address, { clock });
  onTestFinished(() => file.close());
  await file.migrate();
  await file.open();
  const serverStore = (): Store => {
    const store = serverStoreAt(target.url, { clock: undefined });
    onTestFinished(() => store.close());
    return store;
  };
  return { path: database.address, url: target.url, clock, file, server: serverStore };
}

export interface CopyRun extends Partial<Pick<CopyOptions, "final" | "to" | "onProgress">> {
  readonly schema?: string;
  readonly probe?: Probe;
}

/** Runs one copy with connections of its own, as one process would. */
export async function runCopy(
  { path, url, clock }: Pick<Sides, "path" | "url" | "clock">,
  { final = false, to = "the server", onProgress, schema = "counterfoil", probe }: CopyRun = {},
): Promise<CopyReport> {
  const source = new CopySource(path, { clock, probe });
  const target = new CopyTarget({ settings: { connectionString: url }, schema, probe });
  try {
    return await copyStore({ source, target, from: "shop.db", to, final, who: "ann", why: "grown", onProgress });
  } finally {
    source.close();
    await target.close();
  }
}
