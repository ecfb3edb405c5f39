/**
 * The scopes of one open transaction: the transaction itself, and attempts inside it, each a
 * savepoint. What the body of a scope does is kept whole or undone whole.
 *
 * - Everything runs in microtasks after BEGIN. When these have drained and the innermost scope is not
 *   settled, it is abandoned: undone, and rejected with HANDLER_UNFINISHED.
 * - A scope that settles while scopes inside it are open is undone with them.
 * - When SQLite itself ended the transaction (RAISE(ROLLBACK), INSERT OR ROLLBACK, an I/O error), the
 *   transaction is broken: nothing more runs in it, since that would commit by itself.
 */
import { CounterfoilError } from "../../domain/errors.ts";
import { closedError, unfinishedError } from "../scope-errors.ts";
import type { Connection } from "./connection.ts";
import { needsReopen, storeError } from "./errors.ts";
import { NativeHandle } from "./native.ts";
import { sql, type Sql } from "./statements.ts";
import { supervise, whenDrained } from "./supervise.ts";

interface Scope {
  /** 0 is the transaction; attempts count from 1. */
  readonly depth: number;
  ended: boolean;
  abandon: (error: Error) => void;
  /** Trouble of the database that a statement of this scope met, whatever the body made of it. */
  trouble: CounterfoilError | undefined;
  native: NativeHandle | undefined;
}

export class Scopes {
  readonly #connection: Connection;
  readonly #stack: Scope[] = [];
  #broken: CounterfoilError | undefined;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  get isOpen(): boolean {
    return this.#stack.length > 0;
  }

  /** Runs the body of the whole transaction. The caller commits when it resolves and rolls back when it rejects. */
  async transaction<T>(body: () => Promise<T>): Promise<T> {
    const scope = this.#push();
    this.#watch();
    try {
      const value = await this.#supervised(scope, body);
      this.#assertWhole(scope);
      return value;
    } catch (error) {
      throw this.#broken?.cause instanceof CounterfoilError ? this.#broken.cause : (this.#broken ?? error);
    } finally {
      this.#pop(scope);
    }
  }

  async attempt<T>(body: () => Promise<T>): Promise<T> {
    this.use(() => this.#run(savepoints, this.#stack.length));
    const scope = this.#push();
    try {
      const value = await this.#supervised(scope, body);
      this.#assertWhole(scope);
      this.use(() => this.#run(releases, scope.depth));
      this.#pop(scope);
      return value;
    } catch (error) {
      throw this.#undone(scope, error);
    }
  }

  /** Runs something on the connection, if that is still allowed, and gives its errors their codes. */
  use<T>(run: () => T): T {
    if (!this.isOpen) throw closedError();
    if (this.#broken) throw this.#broken;
    try {
      return run();
    } catch (error) {
      throw this.#met(error);
    }
  }

  /** The driver's handle for the innermost scope; dead once that has ended. */
  get native(): unknown {
    const scope = this.#stack.at(-1);
    if (!scope) throw closedError();
    const { database, statements } = this.#connection;
    scope.native ??= new NativeHandle({
      database,
      guard: statements.guard,
      use: (run) => {
        if (scope.ended) throw closedError();
        return this.use(run);
      },
    });
    return scope.native.database;
  }

  #push(): Scope {
    const scope = {
      depth: this.#stack.length,
      ended: false,
      abandon: () => undefined,
      trouble: undefined,
      native: undefined,
    };
    this.#stack.push(scope);
    return scope;
  }

  /** Ends a scope and those inside it. */
  #pop(scope: Scope): void {
    for (const ended of this.#stack.splice(scope.depth)) ended.ended = true;
  }

  #supervised<T>(scope: Scope, body: () => Promise<T>): Promise<T> {
    const { settled, abandon } = supervise(body);
    scope.abandon = abandon;
    return settled;
  }

  #watch(): void {
    whenDrained(() => {
      const scope = this.#stack.at(-1);
      if (!scope) return;
      scope.abandon(unfinishedError(scope.depth === 0 ? "a transaction" : "an attempt"));
      this.#watch();
    });
  }

  #assertWhole(scope: Scope): void {
    if (scope.ended) throw closedError();
    if (scope.trouble) throw scope.trouble;
    if (this.#broken) throw this.#broken;
    if (!this.#connection.database.isTransaction) throw this.#break(new Error("The transaction ended from within"));
    if (this.#stack.at(-1) !== scope) throw unfinishedError("an attempt that another attempt was begun beside");
    scope.native?.assertSettled();
  }

  /** Undoes a scope's work; gives the error that its caller is to see. */
  #undone(scope: Scope, error: unknown): unknown {
    if (scope.ended) return error;
    this.#pop(scope);
    if (this.#broken) return this.#broken;
    if (!this.#connection.database.isTransaction) return this.#break(error);
    try {
      this.#run(rollbacks, scope.depth);
      this.#run(releases, scope.depth);
      return error;
    } catch (error_) {
      return this.#break(storeError(error_, "rollback"));
    }
  }

  #met(error: unknown): unknown {
    const coded = storeError(error, "statement");
    const isTrouble = coded !== error && coded instanceof CounterfoilError && coded.code !== "TRANSACTION_CONTROL";
    const trouble = isTrouble ? coded : undefined;
    if (!this.#connection.database.isTransaction || (trouble && needsReopen(trouble.code))) this.#break(coded);
    const scope = this.#stack.at(-1);
    if (scope && trouble) scope.trouble ??= trouble;
    return coded;
  }

  #break(cause: unknown): CounterfoilError {
    const message = "Cannot go on: the transaction was ended from within, such as by RAISE(ROLLBACK) or a failing disk";
    this.#broken ??= new CounterfoilError("TRANSACTION_BROKEN", message, { cause });
    return this.#broken;
  }

  #run(of: readonly Sql[], depth: number): void {
    const definition = of[depth];
    if (!definition) throw new RangeError(`Cannot nest attempts deeper than ${depthMax}: let one return first`);
    this.#connection.statements.own(definition).run();
  }
}

const depthMax = 8;

function perDepth(name: string, verb: string): readonly Sql[] {
  return Array.from({ length: depthMax + 1 }, (_, depth) => sql(`attempt.${name}`, `${verb} counterfoil_${depth}`));
}

const savepoints = perDepth("begin", "SAVEPOINT");
const releases = perDepth("release", "RELEASE");
const rollbacks = perDepth("rollback", "ROLLBACK TO");
