/**
 * Connections to one database file, with the settings that the promises stand on. Each setting is
 * read back: a setting that SQLite did not take is an error at start, not a lost event later.
 */
import { DatabaseSync } from "node:sqlite";
import { CounterfoilError } from "../../domain/errors.ts";
import type { Probe } from "../../domain/probe.ts";
import { storeError } from "./errors.ts";
import { LogSync } from "./log-sync.ts";
import { Statements } from "./statements.ts";

/** A connection and its prepared statements. */
export interface Connection {
  readonly database: DatabaseSync;
  readonly statements: Statements;
  readonly pageBytes: number;
  readonly logBytes: number;
  /** What makes its commits durable; `undefined` where there is no log to sync. */
  readonly log: LogSync | undefined;
}

export interface ConnectOptions {
  readonly probe?: Probe | undefined;
  /** Page size of a file that is created; an existing file keeps its own. */
  readonly pageBytes: number;
  /** Size of the write-ahead log at which it is copied into the database; see checkpoints.ts. */
  readonly logBytes: number;
  /** For tests of a full disk: the most pages that the file may have. */
  readonly pagesMax?: number | undefined;
}

/** First version without the WAL-reset bug, which could corrupt a file that several processes write. */
const versionMin = [3, 51, 3] as const;

/**
 * Opens the connection that writes.
 *
 * @throws CounterfoilError STORE_BUSY when another process is just now creating or recovering the
 * file; STORE_UNAVAILABLE, STORE_CORRUPT or STORE_UNSUPPORTED when it cannot be used.
 */
export function connectWriter(path: string, options: ConnectOptions): Connection {
  const { pageBytes, logBytes, pagesMax } = options;
  return opened(path, { readOnly: false, timeout: 0 }, (database) => {
    assertVersion(database);
    database.exec(`PRAGMA page_size = ${pageBytes}`);
    if (path !== ":memory:") {
      assertPragma(database, "journal_mode = WAL", "wal");
      // COMMIT syncs nothing by itself: log-sync.ts does, before anybody is told that it is committed.
      assertPragma(database, "synchronous = NORMAL", 1);
      if (process.platform === "darwin") {
        assertPragma(database, "fullfsync = 1", 1);
        assertPragma(database, "checkpoint_fullfsync = 1", 1);
      }
      // A log that was longer is cut when it starts over. Where nobody comes to a checkpoint between
      // transactions, the commit that reaches the last bound makes it.
      const pages = Math.floor((8 * logBytes) / pageBytesOf(database));
      database.exec(`PRAGMA journal_size_limit = ${2 * logBytes}; PRAGMA wal_autocheckpoint = ${pages}`);
    }
    assertPragma(database, "busy_timeout", 0);
    if (pagesMax !== undefined) database.exec(`PRAGMA max_page_count = ${pagesMax}`);
    return connectionOf(database, {
      ...options,
      log: path === ":memory:" ? undefined : new LogSync(path, options.probe),
    });
  });
}

/**
 * Copies the whole log into the database and empties it.
 *
 * @throws CounterfoilError STORE_BUSY while somebody reads from the log or writes to it.
 */
export function emptyLog({ database }: Connection): void {
  try {
    const result = database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
    if (result?.["busy"] === 0) return;
  } catch (error) {
    throw storeError(error, "open");
  }
  throw new CounterfoilError("STORE_BUSY", "Cannot open: others use the log, which has to be emptied first; try again");
}

/** Opens a connection that only reads. */
export function connectReader(path: string): Connection {
  return opened(path, { readOnly: true, timeout: 0 }, (database) =>
    connectionOf(database, { logBytes: 0, log: undefined }),
  );
}

function connectionOf(
  database: DatabaseSync,
  { probe, logBytes, log }: Pick<ConnectOptions, "probe" | "logBytes"> & Pick<Connection, "log">,
): Connection {
  return { database, statements: new Statements(database, probe), pageBytes: pageBytesOf(database), logBytes, log };
}

function pageBytesOf(database: DatabaseSync): number {
  return Number(database.prepare("PRAGMA page_size").get()?.["page_size"]);
}

function opened<T>(
  path: string,
  options: { readonly readOnly: boolean; readonly timeout: number },
  prepare: (database: DatabaseSync) => T,
): T {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, options);
    return prepare(database);
  } catch (error) {
    if (database?.isOpen) database.close();
    throw storeError(error, "open", { path });
  }
}

function assertVersion(database: DatabaseSync): void {
  const version = String(database.prepare("SELECT sqlite_version() AS version").get()?.["version"]);
  const parts = version.split(".").map(Number);
  const difference = versionMin.map((least, index) => (parts[index] ?? 0) - least).find((part) => part !== 0) ?? 0;
  if (difference >= 0) return;
  throw new CounterfoilError(
    "STORE_UNSUPPORTED",
    `Cannot use SQLite ${version}: versions before ${versionMin.join(".")} can corrupt a file that several processes ` +
      "write; use a newer Node.js",
  );
}

/** Sets a pragma where the text has a value, then reads it back. */
function assertPragma(database: DatabaseSync, setting: string, expected: string | number): void {
  const [name = ""] = setting.split(" ");
  if (name !== setting) database.exec(`PRAGMA ${setting}`);
  const [value] = Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {});
  if (value === expected) return;
  throw new CounterfoilError(
    "STORE_UNSUPPORTED",
    `Cannot use this database: PRAGMA ${name} is ${String(value)}, needed is ${expected}; use a file on a local disk`,
  );
}
