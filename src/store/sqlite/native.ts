/**
 * The driver's handle as users and their ORMs may hold it: the real DatabaseSync, except that it
 * cannot end the engine's transaction, cannot be closed, and is dead once its scope has ended.
 *
 * An ORM's BEGIN, COMMIT and ROLLBACK become savepoints of the engine's own naming, and so do its
 * savepoints, so that a ROLLBACK undoes what the ORM began and nothing more.
 *
 * A failed statement poisons the handle as it would poison a transaction of PostgreSQL: only rolling
 * back to a savepoint that was set before the failure makes it usable again.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { CounterfoilError } from "../../domain/errors.ts";
import { type Control, parseControl } from "./parse-control.ts";
import type { StatementGuard } from "./statement-guard.ts";

export interface NativeScope {
  readonly database: DatabaseSync;
  readonly guard: StatementGuard;
  /** Runs a use of the handle; throws where the scope has ended, and gives errors their codes. */
  readonly use: <T>(run: () => T) => T;
}

type Method = (...values: unknown[]) => unknown;

/** What may be called on the handle besides `exec` and `prepare`. */
const allowed: ReadonlySet<PropertyKey> = new Set(["location", "function", "aggregate"]);

export class NativeHandle {
  readonly #scope: NativeScope;
  /** Transactions and savepoints that the user began: names as given, `null` for BEGIN, innermost last. */
  readonly #open: (string | null)[] = [];
  /** The first failure that no rollback has undone, and how many savepoints were open then. */
  #failed: { readonly error: unknown; readonly depth: number } | undefined;
  /** What users hold. */
  readonly database: DatabaseSync;

  constructor(scope: NativeScope) {
    this.#scope = scope;
    this.database = new Proxy(scope.database, { get: (target, key) => this.#property(target, key) });
  }

  /** Throws where what was done through the handle must not be kept. */
  assertSettled(): void {
    if (this.#failed) throw this.#failed.error;
    if (this.#open.length > 0) throw control("keep the work of a handler: it began a transaction and did not end it");
  }

  #property(target: DatabaseSync, key: PropertyKey): unknown {
    if (key === "exec") return (text: string) => this.#use(() => this.#exec(text), parseControl(text));
    if (key === "prepare") return (...values: unknown[]) => this.#use(() => this.#prepare(values));
    const value: unknown = Reflect.get(target, key, target);
    if (typeof value !== "function" || key === "constructor") return value;
    if (allowed.has(key)) return (...values: unknown[]) => this.#use(() => (value as Method).apply(target, values));
    return () => {
      throw control(`call ${String(key)}() on the native handle`);
    };
  }

  /** Runs a use of the handle, or of a statement of its; only a rollback may follow a failure. */
  #use<T>(run: () => T, is?: Control): T {
    return this.#scope.use(() => {
      if (this.#failed && is?.kind !== "rollback" && is?.kind !== "rollback-to") throw poisoned(this.#failed.error);
      try {
        return run();
      } catch (error) {
        this.#failed ??= { error, depth: this.#open.length };
        throw error;
      }
    });
  }

  #exec(text: string): void {
    const is = parseControl(text);
    if (is) this.#control(is);
    else this.#scope.guard.approve(text, () => this.#scope.database.exec(text));
  }

  #prepare(values: unknown[]): unknown {
    const text = String(values[0]);
    const is = parseControl(text);
    if (is) return controlStatement(() => this.#use(() => this.#control(is), is));
    const { database, guard } = this.#scope;
    const prepare = database.prepare.bind(database) as Method;
    const statement = guard.approve(text, () => prepare(...values)).value as StatementSync;
    return new Proxy(statement, { get: (target, key) => this.#statementProperty(target, key) });
  }

  /** An iterator reads all its rows at once: an open cursor would outlive COMMIT. */
  #statementProperty(target: StatementSync, key: PropertyKey): unknown {
    const value: unknown = Reflect.get(target, key, target);
    if (typeof value !== "function" || key === "constructor") return value;
    const call = (values: unknown[]): unknown => (value as Method).apply(target, values);
    const all = (values: unknown[]): unknown => [...(call(values) as Iterable<unknown>)].values();
    const run = key === "iterate" ? all : call;
    return (...values: unknown[]) => this.#use(() => run(values));
  }

  #control({ kind, name }: Control): void {
    const { database } = this.#scope;
    if (kind === "begin" || kind === "savepoint") {
      this.#open.push(name);
      database.exec(`SAVEPOINT ${savepointName(this.#open.length)}`);
      return;
    }
    const at = this.#open.lastIndexOf(name);
    const verb = name === null && kind === "release" ? "commit" : kind;
    if (at < 0) throw control(`${verb} what was not begun through the native handle`);
    const savepoint = savepointName(at + 1);
    if (kind !== "release") {
      database.exec(`ROLLBACK TO ${savepoint}`);
      if (this.#failed && at < this.#failed.depth) this.#failed = undefined;
    }
    if (kind !== "rollback-to") database.exec(`RELEASE ${savepoint}`);
    this.#open.length = kind === "rollback-to" ? at + 1 : at;
  }
}

function savepointName(depth: number): string {
  return `counterfoil_native_${depth}`;
}

/** Stands in for a prepared BEGIN, COMMIT or ROLLBACK. */
function controlStatement(run: () => void): object {
  const rows = (): unknown[] => {
    run();
    return [];
  };
  return {
    run: () => {
      run();
      return { changes: 0, lastInsertRowid: 0 };
    },
    get: run,
    all: rows,
    iterate: () => rows().values(),
    columns: () => [],
  };
}

function control(what: string): CounterfoilError {
  return new CounterfoilError(
    "TRANSACTION_CONTROL",
    `Cannot ${what}: the engine owns the transaction and the connection; end on the handle what was begun on it, and nothing else`,
  );
}

function poisoned(cause: unknown): CounterfoilError {
  return new CounterfoilError(
    "TRANSACTION_POISONED",
    "Cannot use the native handle: an earlier statement failed; let its error go out, or roll back to a savepoint before it",
    { cause },
  );
}
