/**
 * The driver's handle as users and their ORMs may hold it: the real DatabaseSync, except that it
 * cannot end the engine's transaction, cannot be closed, and is dead once its scope has ended.
 *
 * An ORM's BEGIN, COMMIT and ROLLBACK become savepoints of the engine's own naming, and so do its
 * savepoints, so that a ROLLBACK undoes what the ORM began and nothing more.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { CounterfoilError } from "../../domain/errors.ts";
import { parseControl, type Control } from "./parse-control.ts";
import type { StatementGuard } from "./statement-guard.ts";

export interface NativeScope {
  readonly database: DatabaseSync;
  readonly guard: StatementGuard;
  /** Runs a use of the handle; throws where the scope has ended, and gives errors their codes. */
  readonly use: <T>(run: () => T) => T;
}

/** What may be called on the handle besides `exec` and `prepare`. */
const allowed: ReadonlySet<PropertyKey> = new Set(["location", "function", "aggregate", "constructor"]);

/** Savepoints that stand for the transactions and savepoints of the user's own. */
export class NativeHandle {
  readonly #scope: NativeScope;
  /** Names as the user gave them, innermost last; `null` stands for BEGIN. */
  readonly #open: (string | null)[] = [];
  readonly database: DatabaseSync;

  constructor(scope: NativeScope) {
    this.#scope = scope;
    this.database = new Proxy(scope.database, { get: (target, key) => this.#property(target, key) });
  }

  /** Transactions that the user began and has not ended. */
  get unfinished(): number {
    return this.#open.length;
  }

  #property(target: DatabaseSync, key: PropertyKey): unknown {
    if (key === "exec") return (text: string) => this.#scope.use(() => this.#exec(text));
    if (key === "prepare")
      return (text: string, ...rest: unknown[]) => this.#scope.use(() => this.#prepare(text, rest));
    const value: unknown = Reflect.get(target, key, target);
    if (typeof value !== "function" || key === "constructor") return value;
    if (allowed.has(key))
      return (...values: unknown[]): unknown => this.#scope.use(() => Reflect.apply(value, target, values));
    return () => refuse(`call ${String(key)}() on the native handle`);
  }

  #exec(text: string): void {
    const control = parseControl(text);
    if (control) this.#control(control);
    else this.#scope.guard.approve(text, () => this.#scope.database.exec(text));
  }

  #prepare(text: string, rest: unknown[]): unknown {
    const control = parseControl(text);
    if (control) return controlStatement(() => this.#scope.use(() => this.#control(control)));
    const { database, guard, use } = this.#scope;
    const prepare = database.prepare.bind(database) as (...values: unknown[]) => StatementSync;
    return guardedStatement(guard.approve(text, () => prepare(text, ...rest)).value, use);
  }

  #control(control: Control): void {
    const { database } = this.#scope;
    if (control.kind === "begin" || control.kind === "savepoint") {
      this.#open.push(control.kind === "begin" ? null : control.name);
      database.exec(`SAVEPOINT ${savepointName(this.#open.length)}`);
      return;
    }
    const at = this.#open.lastIndexOf(control.name);
    if (at < 0) refuse(`${control.kind} through the native handle, which began nothing of that name`);
    const savepoint = savepointName(at + 1);
    if (control.kind !== "release") database.exec(`ROLLBACK TO ${savepoint}`);
    if (control.kind === "rollback-to") {
      this.#open.length = at + 1;
      return;
    }
    database.exec(`RELEASE ${savepoint}`);
    this.#open.length = at;
  }
}

function savepointName(depth: number): string {
  return `counterfoil_native_${depth}`;
}

/** A statement whose every use is checked. An iterator reads all its rows at once: an open cursor would outlive COMMIT. */
function guardedStatement(statement: StatementSync, use: NativeScope["use"]): StatementSync {
  return new Proxy(statement, {
    get: (target, key) => {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== "function" || key === "constructor") return value;
      if (key === "iterate") {
        return (...values: Parameters<StatementSync["all"]>) => use(() => target.all(...values))[Symbol.iterator]();
      }
      return (...values: unknown[]): unknown => use(() => Reflect.apply(value, target, values));
    },
  });
}

/** Stands in for a prepared BEGIN, COMMIT or ROLLBACK. */
function controlStatement(run: () => void): object {
  return {
    run: () => {
      run();
      return { changes: 0, lastInsertRowid: 0 };
    },
    get: () => run(),
    all: () => {
      run();
      return [];
    },
    iterate: () => {
      run();
      return [][Symbol.iterator]();
    },
    columns: () => [],
  };
}

function refuse(what: string): never {
  throw new CounterfoilError(
    "TRANSACTION_CONTROL",
    `Cannot ${what}: the engine owns the transaction and the connection`,
  );
}
