/**
 * Working in a transaction that the user has begun, on a connection of `node:sqlite` of their own to the
 * same file, and will end.
 *
 * The user's COMMIT has to be as good as the engine's: the connection must sync what it commits.
 */
import { statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { CounterfoilError } from "../../domain/errors.ts";
import { Misuse } from "../../domain/misuse.ts";
import { busyError, endedError, notOpenError } from "../users-errors.ts";
import type { Connection } from "./connection.ts";
import { storeError } from "./errors.ts";
import { Statements } from "./statements.ts";

/** Connections that are worked on just now. */
const busy: WeakSet<DatabaseSync> = new WeakSet();

/** Statements that are prepared on users' connections. */
const prepared: WeakMap<DatabaseSync, Statements> = new WeakMap();

/** Runs a body behind a savepoint: kept with what the user commits, or undone where it rejects. */
export async function withinUsers<T>(
  given: unknown,
  path: string,
  run: (connection: Connection) => Promise<T>,
): Promise<T> {
  const database = asDatabase(given);
  if (busy.has(database)) throw busyError();
  if (!database.isOpen || !database.isTransaction) throw notOpenError();
  assertFit(database, path);
  busy.add(database);
  try {
    control(database, "SAVEPOINT counterfoil");
    const value = await run(connectionOn(database));
    control(database, "RELEASE counterfoil");
    return value;
  } catch (error) {
    rollBack(database);
    throw error;
  } finally {
    busy.delete(database);
  }
}

function connectionOn(database: DatabaseSync): Connection {
  const statements = prepared.get(database) ?? new Statements(database);
  prepared.set(database, statements);
  return { database, statements, pageBytes: 0, logBytes: 0, log: undefined };
}

function control(database: DatabaseSync, text: string): void {
  if (!database.isOpen || !database.isTransaction) throw endedError();
  try {
    database.exec(text);
  } catch (error) {
    const coded = storeError(error, "statement");
    // The savepoint is not there.
    throw coded === error ? endedError(error) : coded;
  }
}

/** Where the transaction is gone, or another one was begun, there is nothing of the engine's to undo. */
function rollBack(database: DatabaseSync): void {
  try {
    control(database, "ROLLBACK TO counterfoil");
    control(database, "RELEASE counterfoil");
  } catch {
    // The error that led here says what is wrong.
  }
}

function asDatabase(given: unknown): DatabaseSync {
  if (given instanceof DatabaseSync) return given;
  throw new Misuse(
    "Cannot work in your transaction: SQLite is the store, and it works on a connection of node:sqlite only; hand over your DatabaseSync",
  );
}

function assertFit(database: DatabaseSync, path: string): void {
  const location = database.location();
  if (location === null || !isSameFile(location, path)) {
    throw new CounterfoilError(
      "STORE_UNSUPPORTED",
      `Cannot work in your transaction: it is not on the store's file; open ${path}`,
    );
  }
  if (
    numberOf(database, "synchronous") >= 2 &&
    (process.platform !== "darwin" || numberOf(database, "fullfsync") === 1)
  ) {
    return;
  }
  throw new CounterfoilError(
    "STORE_UNSUPPORTED",
    "Cannot work in your transaction: its connection does not sync what it commits; set PRAGMA synchronous = FULL, and on macOS fullfsync = 1, before you begin",
  );
}

function isSameFile(left: string, right: string): boolean {
  const [one, other] = [left, right].map((path) => statSync(path, { throwIfNoEntry: false }));
  return one !== undefined && other !== undefined && one.dev === other.dev && one.ino === other.ino;
}

function numberOf(database: DatabaseSync, pragma: string): number {
  return Number(database.prepare(`PRAGMA ${pragma}`).get()?.[pragma]);
}
