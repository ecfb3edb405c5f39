/** Looking at a PostgreSQL database from outside of what is tested, by connections of one statement. */
import { Client, Pool, type QueryResult, types } from "pg";
import { eventually } from "../../src/testing/eventually.ts";

export type Row = Readonly<Record<string, unknown>>;

/** The driver gives large integers as text; those of tests are small. */
const int8: number = types.builtins.INT8;
const builtin = types.getTypeParser as (oid: number, format?: "text" | "binary") => (text: string) => unknown;
const countsAsNumbers = {
  getTypeParser: (oid: number, format?: "text" | "binary") => (oid === int8 ? Number : builtin(oid, format)),
};

/** Runs statements on a connection of their own; the rows are the last one's. */
export async function ask<R extends object = Row>(
  url: string,
  text: string,
  values: readonly unknown[] = [],
): Promise<readonly R[]> {
  const client = new Client(outside(url));
  // A server that ends the connection says so in the query's own error.
  client.on("error", () => undefined);
  await client.connect();
  try {
    return lastRows(await client.query<R>(text, [...values]));
  } finally {
    await client.end();
  }
}

/** Asks one database again and again, over connections that stay: making one is dearer than most statements. */
export function askerAt(
  url: string,
): <R extends object = Row>(text: string, values?: readonly unknown[]) => Promise<readonly R[]> {
  const pool = new Pool({ ...outside(url), max: 2, idleTimeoutMillis: 0, allowExitOnIdle: true });
  pool.on("error", () => undefined);
  return async <R extends object>(text: string, values: readonly unknown[] = []) =>
    lastRows(await pool.query<R>(text, [...values]));
}

const outside = (url: string) => ({ connectionString: url, application_name: "outside", types: countsAsNumbers });

function lastRows<R extends object>(result: QueryResult<R> | QueryResult<R>[]): readonly R[] {
  return (Array.isArray(result) ? result.at(-1) : result)?.rows ?? [];
}

/** Backends of the database that `ask` has not opened. */
const backends = "FROM pg_stat_activity WHERE datname = current_database() AND application_name <> 'outside'";

/** Resolves once so many backends wait for a lock in this database; gives their statements. */
export async function untilBlocked(url: string, { count = 1 } = {}): Promise<readonly string[]> {
  return eventually(
    async () => {
      const found = await ask<{ query: string }>(url, `SELECT query ${backends} AND wait_event_type = 'Lock'`);
      return found.length >= count && found.map(({ query }) => query);
    },
    { what: `${count} backends that wait for a lock` },
  );
}

/** Ends connections of this database as an administrator would; gives how many. */
export async function terminateBackends(url: string, where = "true"): Promise<number> {
  const ended = await ask(url, `SELECT pg_terminate_backend(pid) ${backends} AND (${where})`);
  return ended.length;
}
