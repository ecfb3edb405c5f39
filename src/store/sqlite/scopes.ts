/**
 * The scopes of one open transaction: the transaction itself, and attempts inside it, each a
 * savepoint. What the body of a scope does is kept whole or undone whole.
 *
 * - Everything runs in microtasks after BEGIN. When these have drained and the innermost scope is not
 *   settled, it is abandoned: undone, and rejected with HANDLER_UNFINISHED.
 * - A scope that settles while scopes inside it are open is undone with them.
 * - A hopeful transaction sets no savepoint for its outer attempts, which would copy every page that they change.
 *   One that fails after it changed something takes the transaction with it, which is then run again.
 * - When SQLite itself ended the transaction (RAISE(ROLLBACK), INSERT OR ROLLBACK, an I/O error), the
 *   transaction is broken: nothing more runs in it, since that would commit by itself.
 */
import { CounterfoilError } from "../../domain/errors.ts";
import type { Hope } from "../hope.ts";
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
  /** Where no savepoint was set: what had been changed before. */
  hoped: Changes | undefined;
}

/** What a connection has changed. */
interface Changes {
  /** Rows, those that a trigger or a foreign key changed included. */
  readonly rows: number;
  /** What no count of rows shows. */
  readonly obscure: number;
}

export class Scopes {
  readonly #connection: Connection;
  /** Given where attempts may go without savepoints. */
  readonly #hope: Hope | undefined;
  readonly #isHopeful: boolean;
  readonly #stack: Scope[] = [];
  #obscure = 0;
  #broken: CounterfoilError | undefined;

  constructor(connection: Connection, hope?: Hope) {
    this.#connection = connection;
    this.#hope = hope;
    this.#isHopeful = hope?.isEarned ?? false;
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
    const hoped = this.#isHopeful && this.#stack.length === 1 ? this.use(() => this.#changes()) : undefined;
    if (!hoped) this.use(() => this.#run(savepoints, this.#stack.length));
    const scope = this.#push(hoped);
    try {
      const value = await this.#supervised(scope, body);
      this.#assertWhole(scope);
      if (!hoped) this.use(() => this.#run(releases, scope.depth));
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
    this.obscure();
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

  /** Something is about to change that no count of rows shows. */
  obscure(): void {
    this.#obscure += 1;
  }

  #push(hoped?: Changes): Scope {
    const scope = {
      depth: this.#stack.length,
      ended: false,
      abandon: () => undefined,
      trouble: undefined,
      native: undefined,
      hoped,
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
    if (scope.hoped) return this.#isUnchanged(scope.hoped) ? error : this.#despair(error);
    try {
      this.#run(rollbacks, scope.depth);
      this.#run(releases, scope.depth);
      return error;
    } catch (error_) {
      return this.#break(storeError(error_, "rollback"));
    }
  }

  #changes(): Changes {
    const [rows] = this.#connection.statements.own(countChanges).get() as unknown as [number];
    return { rows, obscure: this.#obscure };
  }

  #isUnchanged({ rows, obscure }: Changes): boolean {
    return obscure === this.#obscure && rows === this.#changes().rows;
  }

  /** What is to be undone cannot be, alone: the whole is, and runs again with savepoints. */
  #despair(cause: unknown): CounterfoilError {
    this.#hope?.lose();
    const message = "Cannot undo one attempt: none of the transaction's can be by itself; run it again";
    return this.#break(new CounterfoilError("RACE_LOST", message, { cause }));
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

const countChanges = sql("attempt.changes", "SELECT total_changes()", { arrays: true });

const depthMax = 8;

function perDepth(name: string, verb: string): readonly Sql[] {
  return Array.from({ length: depthMax + 1 }, (_, depth) => sql(`attempt.${name}`, `${verb} counterfoil_${depth}`));
}

const savepoints = perDepth("begin", "SAVEPOINT");
const releases = perDepth("release", "RELEASE");
const rollbacks = perDepth("rollback", "ROLLBACK TO");
