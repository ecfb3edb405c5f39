import { ask } from "../../../test/support/postgres-query.ts";
import {
  type PostgresDatabase,
  type PostgresServer,
  postgresServer,
  type Template,
} from "../../../test/support/postgres.ts";
import { sha256 } from "../../domain/digest.ts";
import { VirtualClock } from "../../testing/virtual-clock.ts";
import type { Bundle } from "../conformance/bundle.conformance.ts";
import { knownMigrations } from "./migrations.ts";
import { PostgresStore, type StoreOptions } from "./store.ts";

/** A store with every option set; a test names what it is about. */
export function storeAt(url: string, overrides: Partial<StoreOptions> = {}): PostgresStore {
  return new PostgresStore({
    pool: poolAt(url),
    schema: "counterfoil",
    clock: () => new VirtualClock().wallMs(),
    ...overrides,
  });
}

/** A pool with every option set. */
export function poolAt(url: string, overrides: Partial<StoreOptions["pool"]> = {}): StoreOptions["pool"] {
  return {
    settings: { connectionString: url, application_name: "counterfoil" },
    connectionsMax: 10,
    connectMs: 30_000,
    deadlines: { statementMs: 30_000, commitMs: 30_000 },
    ...overrides,
  };
}

/** A database with the schema of this version, copied from one that was migrated once a run. */
export async function migratedDatabase(server?: PostgresServer): Promise<PostgresDatabase> {
  return (server ?? (await postgresServer())).createDatabase({ template });
}

// Of one length, whatever the number of migrations: PostgreSQL cuts names after 63 bytes.
const template: Template = {
  name: `counterfoil_${sha256(
    knownMigrations()
      .map(({ checksum }) => checksum)
      .join(),
  ).slice(0, 24)}`,
  prepare: async (url) => {
    const store = storeAt(url);
    await store.migrate();
    await store.close();
  },
};

/** Databases that earlier tests of this process have left, by server: emptying one is far cheaper than making one. */
const left: Map<string, PostgresDatabase[]> = new Map();

const emptied = `DO $$ DECLARE name text; BEGIN
  FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'counterfoil' AND tablename <> 'migrations' LOOP
    EXECUTE format('DELETE FROM counterfoil.%I', name);
  END LOOP;
END $$;
DROP SCHEMA public CASCADE;
CREATE SCHEMA public`;

/** A migrated database that holds nothing, to be given back by the end of the scope. The server's end drops it. */
async function borrowedDatabase(server: PostgresServer): Promise<PostgresDatabase> {
  const free = left.get(server.url("")) ?? [];
  left.set(server.url(""), free);
  const database = free.pop() ?? (await migratedDatabase(server));
  const giveBack = async (): Promise<void> => {
    await ask(database.url, emptied);
    free.push(database);
  };
  return { ...database, [Symbol.asyncDispose]: giveBack };
}

export interface PostgresBundle extends Bundle {
  readonly url: string;
}

/** The address at which the stores reach a database, from the server's own. */
type Through = (url: string) => string;

/** Two open handles on one database of their own, and the clock that both show. */
export async function postgresBundle(
  overrides: Partial<StoreOptions> = {},
  { server: given, through = (url) => url }: { readonly server?: PostgresServer; readonly through?: Through } = {},
): Promise<PostgresBundle> {
  const server = given ?? (await postgresServer());
  const stack = new AsyncDisposableStack();
  const database = stack.use(await borrowedDatabase(server));
  const clock = new VirtualClock();
  const handle = (url: string): PostgresStore => {
    const store = storeAt(through(url), { clock: () => clock.wallMs(), ...overrides });
    stack.defer(() => store.close());
    return store;
  };
  const [store, other] = [handle(database.url), handle(database.url)];
  await Promise.all([store.open(), other.open()]);
  return {
    url: database.url,
    store,
    other,
    clock: { advance: (ms) => clock.advance(ms) },
    unmigrated: async () => {
      const empty = stack.use(await server.createDatabase());
      return [handle(empty.url), handle(empty.url)];
    },
    dispose: () => stack.disposeAsync(),
  };
}
