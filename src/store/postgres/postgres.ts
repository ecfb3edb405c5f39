import type { Probe } from "../../domain/probe.ts";
import type { Store } from "../store.ts";
import type { DriverSettings } from "./driver.ts";
import { assertSchemaName } from "./schema-name.ts";
import { PostgresStore } from "./store.ts";

/** How the server is reached and used; the defaults suit a server in the same data centre, with or without a pooler between. */
export interface PostgresOptions {
  /** Such as `postgres://user:password@host:5432/database?sslmode=verify-full`. What is not in it comes from PGHOST and the like, as for `psql`. */
  readonly connectionString?: string;
  readonly host?: string;
  readonly port?: number;
  readonly user?: string;
  /** A function is asked for each new connection, as for tokens that expire. */
  readonly password?: string | (() => string | Promise<string>);
  readonly database?: string;
  /** `true`, or options of `tls.connect` such as `{ ca }`. */
  readonly ssl?: boolean | object;
  /**
   * The address of the server itself where `connectionString` is that of a pooler in transaction mode, on
   * which nobody hears of others' commits. Without it workers find what others owe by polling, within a second.
   */
  readonly directConnectionString?: string;
  /** Settings of the session for users' own statements, such as `-c search_path=shop`. Not behind a pooler, which gives sessions away. */
  readonly sessionOptions?: string;
  /** Shown in `pg_stat_activity`. Default `"counterfoil"`. */
  readonly applicationName?: string;
  /** The schema that the engine keeps its tables in, and nothing else. Several applications of one database have one each. Default `"counterfoil"`. */
  readonly schema?: string;
  /** Connections of this process at most. Default 10. */
  readonly connectionsMax?: number;
  /** Milliseconds for a connection to be made. Default 5,000. */
  readonly connectMs?: number;
  /** Milliseconds of one statement, users' included, before it is cancelled. Default 10,000. */
  readonly statementMs?: number;
  /** Milliseconds for COMMIT to be answered, replicas included, before its outcome counts as unknown. Default 10,000. */
  readonly commitMs?: number;
  /** Called before and after every statement of the engine's own, for crash tests. */
  readonly probe?: Probe;
}

/**
 * The engine for many machines: keeps everything in one schema of a PostgreSQL database, version 14 or
 * newer, beside the application's own tables. Any number of processes may use it at once.
 *
 * Without an address it is where PGHOST and the like say, as for `psql`.
 *
 * @throws TypeError when the address is empty, or the schema's name cannot be one.
 * @example
 * ```ts no-run
 * const app = defineApp({ store: postgres(process.env.DATABASE_URL), connections: [], effects: [] });
 * ```
 */
export function postgres(options: string | PostgresOptions = {}): Store {
  if (options === "") {
    throw new TypeError("Cannot use PostgreSQL: the connection string is empty; give one such as DATABASE_URL has");
  }
  const given = typeof options === "string" ? { connectionString: options } : options;
  const { schema = "counterfoil", connectionsMax = 10, connectMs = 5_000, probe } = given;
  const { statementMs = 10_000, commitMs = 10_000, directConnectionString } = given;
  assertSchemaName(schema);
  const settings = settingsOf(given);
  const direct = directConnectionString && { ...settings, connectionString: directConnectionString };
  const pool = { settings, connectionsMax, connectMs, deadlines: { statementMs, commitMs } };
  return new PostgresStore({ pool, schema, probe, ...(direct && { direct }) });
}

function settingsOf(options: PostgresOptions): DriverSettings {
  const { connectionString, host, port, user, password, database, ssl, sessionOptions } = options;
  const { applicationName = "counterfoil" } = options;
  const session = { options: sessionOptions, application_name: applicationName };
  return { connectionString, host, port, user, password, database, ssl, ...session };
}
