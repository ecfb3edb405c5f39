/** What the engine uses of `pg`, in types of its own: the published declarations name none of the driver's. */
import { Client, DatabaseError, Pool } from "pg";

/** A statement as the driver takes it. */
export interface DriverQuery {
  readonly text: string;
  readonly values?: readonly unknown[] | undefined;
  /** Prepared under this name once a connection, and kept by the server for the next time. */
  readonly name?: string | undefined;
  /** `extended` also without values: the server then takes one statement only. */
  readonly queryMode?: "extended" | undefined;
  readonly rowMode?: "array" | undefined;
  readonly types?: { readonly getTypeParser: (oid: number, format?: string) => (value: never) => unknown } | undefined;
}

/** What the driver gives back for one statement. */
export interface DriverResult {
  readonly command: string | null;
  readonly rowCount: number | null;
  readonly rows: Record<string, unknown>[];
}

/** A message of the server's beside its answers. */
export interface DriverNotice {
  readonly severity?: string | undefined;
  readonly routine?: string | undefined;
}

export interface DriverNotification {
  readonly channel: string;
  readonly payload?: string | undefined;
}

/** One connection. */
export interface DriverClient {
  connect(): Promise<unknown>;
  query(query: DriverQuery): Promise<DriverResult>;
  end(): Promise<void>;
  on(event: "error" | "end", listener: (error?: Error) => void): unknown;
  on(event: "notice", listener: (notice: DriverNotice) => void): unknown;
  on(event: "notification", listener: (notification: DriverNotification) => void): unknown;
  removeListener(event: "notice", listener: (notice: DriverNotice) => void): unknown;
  /** `I` outside of a transaction, `T` inside, `E` inside one that failed: of the last answer. */
  getTransactionStatus(): string | null;
  /** The process that serves this connection, as the server said; a pooler says another. */
  readonly processID: number | null;
  readonly connection: { readonly stream: { destroy(): unknown; cork(): void; uncork(): void } };
}

/** A connection that goes back to its pool, or is ended with a reason. */
export interface PooledClient extends DriverClient {
  release(error?: Error): void;
}

export interface DriverPool {
  connect(): Promise<PooledClient>;
  end(): Promise<void>;
  on(event: "connect", listener: (client: DriverClient) => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
  readonly totalCount: number;
  readonly idleCount: number;
}

/** How the server is reached, as `pg` takes it. */
export interface DriverSettings {
  readonly connectionString?: string | undefined;
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly user?: string | undefined;
  readonly password?: string | (() => string | Promise<string>) | undefined;
  readonly database?: string | undefined;
  readonly ssl?: boolean | object | undefined;
  /** Options of the session for the server's command line, such as `-c search_path=shop`. */
  readonly options?: string | undefined;
  readonly application_name?: string | undefined;
}

export function createPool(
  settings: DriverSettings,
  { max, connectMs }: { readonly max: number; readonly connectMs: number },
): DriverPool {
  const pool = new Pool({
    ...(settings as object),
    max,
    connectionTimeoutMillis: connectMs,
    keepAlive: true,
    // Statements are sent without waiting for the answers before them; each has an answer of its own.
    pipeline: true,
  });
  // Its types leave out what it has: the process of a connection, and its stream.
  return pool as unknown as DriverPool;
}

export function createClient(settings: DriverSettings, { connectMs }: { readonly connectMs: number }): DriverClient {
  const config = { ...(settings as object), connectionTimeoutMillis: connectMs, keepAlive: true };
  return new Client(config) as unknown as DriverClient;
}

/** The SQLSTATE of an error that the server sent; `undefined` for any other error. */
export function sqlState(error: unknown): string | undefined {
  return error instanceof DatabaseError ? error.code : undefined;
}

/** Whether the server ended the connection with this error. */
export function endsConnection(error: unknown): boolean {
  return error instanceof DatabaseError && (error.severity === "FATAL" || error.severity === "PANIC");
}
