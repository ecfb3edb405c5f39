/** Both sides of a copy for a test: a file with a store, and a database without one. */
import { sqlite } from "counterfoil/sqlite";
import { onTestFinished } from "vitest";
import type { Clock } from "../../src/domain/clock.ts";
import { systemClock } from "../../src/domain/system-clock.ts";
import { storeAt as serverStoreAt } from "../../src/store/postgres/bundle.conformance.ts";
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
