/**
 * Refuses users' statements that would control the transaction or the connection. SQLite's own
 * authorizer decides, on the parsed statement, so that no spelling passes.
 *
 * Setting an authorizer makes SQLite prepare every cached statement anew, so it is set only while a
 * text is seen for the first time; what it said depends on the text alone and is remembered.
 */
import { constants, type DatabaseSync } from "node:sqlite";

const denied: ReadonlySet<number> = new Set([
  constants.SQLITE_TRANSACTION,
  constants.SQLITE_SAVEPOINT,
  constants.SQLITE_ATTACH,
  constants.SQLITE_DETACH,
  constants.SQLITE_PRAGMA,
]);

const writing: ReadonlySet<number> = new Set([
  constants.SQLITE_INSERT,
  constants.SQLITE_UPDATE,
  constants.SQLITE_DELETE,
]);

/** What changes rows at most. */
const plain: ReadonlySet<number> = new Set([
  ...writing,
  constants.SQLITE_SELECT,
  constants.SQLITE_READ,
  constants.SQLITE_FUNCTION,
  constants.SQLITE_RECURSIVE,
]);

/** What the guard learned of a text. */
export interface Approval {
  /** It changes rows: rows that it gives back are rows it changed, and SQLite's count of changes is its own. */
  readonly writes: boolean;
  /** It may change what SQLite's count of changes does not show, such as the schema. */
  readonly defines: boolean;
}

const rememberedMax = 1_000;

export class StatementGuard {
  readonly #database: DatabaseSync;
  readonly #approved: Map<string, Approval> = new Map();

  #authorizer: ((action: number, table: string | null) => number) | null = null;

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /** Runs what prepares or executes a user's text; SQLite's AUTH error comes out where it is refused. */
  approve<T>(text: string, prepare: () => T): { readonly value: T; readonly approval: Approval } {
    const known = this.#approved.get(text);
    if (known) return { value: prepare(), approval: known };
    let [writes, defines] = [false, false];
    // A function of the user's may run statements while a text is under way: its guard must be there again after.
    const outer = this.#authorizer;
    this.#authorizer = (action, table) => {
      // A CREATE writes to SQLite's own schema table and changes no row of anybody's.
      if (writing.has(action) && !table?.startsWith("sqlite_")) writes = true;
      if (!plain.has(action)) defines = true;
      return denied.has(action) ? constants.SQLITE_DENY : constants.SQLITE_OK;
    };
    this.#database.setAuthorizer(this.#authorizer);
    try {
      const value = prepare();
      const approval = { writes, defines };
      if (this.#approved.size >= rememberedMax) this.#approved.clear();
      this.#approved.set(text, approval);
      return { value, approval };
    } finally {
      this.#authorizer = outer;
      this.#database.setAuthorizer(outer);
    }
  }
}
