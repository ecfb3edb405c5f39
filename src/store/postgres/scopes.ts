/**
 * The scopes of one open transaction: the transaction itself, and attempts inside it, each a savepoint.
 * What the body of a scope does is kept whole or undone whole.
 *
 * - A savepoint is set right before the first statement of its scope, without waiting for its answer. A hopeful
 *   transaction sets none for its outermost attempts: one that is to be undone breaks it.
 * - A scope ends when its body has settled and everything that was sent in it is answered: a statement
 *   that nobody awaited is part of it, and its failure too.
 * - A failed statement poisons its scope, as it does on the server: nothing more is sent in it, and its
 *   body fails even if it swallowed the error.
 * - A body that outlives its scope (it was too slow, or left work behind) is known by the context it
 *   runs in, and refused, whatever scope is open then.
 * - When the connection is gone, or the transaction has to run again, the transaction is broken: nothing
 *   more runs in it.
 */
import type { AsyncLocalStorage } from "node:async_hooks";
import { CounterfoilError, hasCode } from "../../domain/errors.ts";
import { closedError, slowError, unfinishedError } from "../scope-errors.ts";
import type { AttemptOptions } from "../store.ts";
import type { DriverQuery, DriverResult } from "./driver.ts";
import { type Doing, isCancelled } from "./errors.ts";
import { mayLeave } from "./leavings.ts";
import { lostRace } from "./lost-race.ts";
import { NativeHandle } from "./native.ts";
import { Patience } from "./patience.ts";
import type { Line } from "./session.ts";

export interface Scope {
  readonly scopes: Scopes;
  /** 0 is the transaction; attempts count from 1. */
  readonly depth: number;
  /** Whether its savepoint is set. */
  begun: boolean;
  ended: boolean;
  /** The first failure that no rollback has undone. */
  failed: { readonly error: unknown } | undefined;
  native: NativeHandle | undefined;
  /** A statement may have left something on the connection. */
  leaves: boolean;
  /** When its time is over, statements included, by `performance.now()`. */
  endMs: number;
}

export interface ScopesOptions {
  readonly session: Line;
  /** Knows the scope that a call comes from. */
  readonly inside: AsyncLocalStorage<Scope>;
  /** Time of an outermost attempt in which it waits for nothing of the transaction's. */
  readonly attemptMs: number;
  /** Whether outermost attempts go without a savepoint. */
  readonly isHopeful?: boolean | undefined;
  /** Called when an outermost attempt that sent something is undone. */
  readonly onUndone?: (() => void) | undefined;
}

export class Scopes {
  readonly #session: Line;
  readonly #inside: AsyncLocalStorage<Scope>;
  readonly #attemptMs: number;
  readonly #isHopeful: boolean;
  readonly #onUndone: (() => void) | undefined;
  readonly #stack: Scope[] = [];
  #broken: CounterfoilError | undefined;
  /** Of the latest outermost attempt. */
  #patience: Patience | undefined;

  constructor({ session, inside, attemptMs, isHopeful = false, onUndone }: ScopesOptions) {
    this.#session = session;
    this.#inside = inside;
    this.#attemptMs = attemptMs;
    this.#isHopeful = isHopeful;
    this.#onUndone = onUndone;
  }

  get isOpen(): boolean {
    return this.#stack.length > 0;
  }

  /** Runs the body of the whole transaction. The caller commits when it resolves and rolls back when it rejects. */
  async transaction<T>(body: () => Promise<T>): Promise<T> {
    const scope = this.#push();
    scope.begun = true;
    try {
      const value = await this.#inside.run(scope, async () => body());
      await this.#assertWhole(scope);
      return value;
    } catch (error) {
      throw this.#broken ? causeOf(this.#broken) : error;
    } finally {
      this.#pop(scope);
    }
  }

  async attempt<T>(body: () => Promise<T>, { withinMs }: AttemptOptions = {}): Promise<T> {
    this.#assertUsable();
    const scope = this.#push();
    if (withinMs !== undefined) scope.endMs = performance.now() + withinMs;
    try {
      const settled = this.#inside.run(scope, async () => body());
      const value = await this.#inTime(scope, withinMs === undefined ? settled : inAll(settled, withinMs));
      await this.#assertWhole(scope);
      this.#pop(scope);
      if (scope.begun && this.#hasSavepoint(scope)) this.#session.prepend(`RELEASE ${savepoint(scope)}`);
      if (withinMs !== undefined) this.#session.boundStatements(Infinity);
      return value;
    } catch (error) {
      // Whatever the body made of it: with the lock it would have gone another way.
      const met = scope.failed?.error ?? error;
      // The server bounds its statements by the same time, and its word may be read before the timer fires.
      const isLate = withinMs !== undefined && isCancelled(met) && performance.now() >= scope.endMs;
      const cause = isLate ? slowError(withinMs) : error;
      throw await this.#undone(scope, hasCode(met, "STORE_BUSY") ? met : cause);
    }
  }

  /** Runs a statement in the innermost scope, if that is still allowed, and gives its errors their codes. */
  async run(query: DriverQuery, doing: Doing): Promise<DriverResult> {
    this.#assertUsable();
    return this.#send(this.#top(), query, doing);
  }

  boundLocks(lockMs: number): void {
    this.#assertUsable();
    this.#session.boundLocks(lockMs);
  }

  /** Something that belongs to the transaction has failed beside it: it is not to be kept. */
  spoil(error: unknown): void {
    const [transaction] = this.#stack;
    if (transaction) transaction.failed ??= { error };
  }

  /** Refuses a statement that is not to be sent: it fails its scope as one that was. */
  refuse(error: CounterfoilError): never {
    this.#assertUsable();
    this.#top().failed = { error };
    throw error;
  }

  /** The driver's handle for the innermost scope; dead once that has ended. */
  get native(): unknown {
    this.#assertOpen();
    const scope = this.#top();
    scope.native ??= new NativeHandle({
      send: (query) => {
        if (scope.ended) throw closedError();
        this.#assertUsable();
        return this.#send(scope, query, "user statement");
      },
      failed: (error) => {
        if (scope.ended) throw closedError();
        scope.failed ??= { error };
      },
      mended: () => {
        scope.failed = undefined;
      },
    });
    return scope.native.client;
  }

  async #send(scope: Scope, query: DriverQuery, doing: Doing): Promise<DriverResult> {
    this.#begin();
    if (doing === "user statement") {
      scope.leaves ||= mayLeave(query.text);
      this.#session.boundStatements(scope.endMs - performance.now());
    }
    const patience = this.#patience;
    patience?.asks();
    try {
      return await this.#session.send(query, doing);
    } catch (error) {
      throw this.#met(scope, error);
    } finally {
      patience?.hears();
    }
  }

  /** Sets the savepoints that are still to be set, outermost first. */
  #begin(): void {
    for (const scope of this.#stack) {
      if (scope.begun) continue;
      scope.begun = true;
      if (this.#hasSavepoint(scope)) this.#session.prepend(savepoint(scope));
    }
  }

  #hasSavepoint({ depth }: Scope): boolean {
    return depth > 1 || !this.#isHopeful;
  }

  #push(): Scope {
    const scope: Scope = {
      scopes: this,
      depth: this.#stack.length,
      begun: false,
      ended: false,
      failed: undefined,
      native: undefined,
      leaves: false,
      endMs: this.#stack.at(-1)?.endMs ?? Infinity,
    };
    this.#stack.push(scope);
    return scope;
  }

  /** Ends a scope and those inside it. */
  #pop(scope: Scope): void {
    for (const ended of this.#stack.splice(scope.depth)) ended.ended = true;
  }

  #top(): Scope {
    const scope = this.#stack.at(-1);
    if (!scope) throw closedError();
    return scope;
  }

  #assertOpen(): void {
    const caller = this.#inside.getStore();
    if (!this.isOpen || (caller?.scopes === this && caller.ended)) throw closedError();
    if (this.#broken) throw this.#broken;
  }

  #assertUsable(): void {
    this.#assertOpen();
    const { failed } = this.#top();
    if (failed) throw poisoned(failed.error);
  }

  /**
   * Gives up waiting for an outermost attempt that waits for something else: others wait for the same commit.
   * The time of its statements is not counted, which the server bounds.
   */
  async #inTime<T>({ depth }: Scope, settled: Promise<T>): Promise<T> {
    if (depth > 1) return settled;
    const { promise: late, reject } = Promise.withResolvers<never>();
    const patience = new Patience(this.#attemptMs, () => reject(unfinishedError("an attempt")));
    this.#patience = patience;
    try {
      return await Promise.race([settled, late]);
    } finally {
      patience.stop();
    }
  }

  /** Resolves where a scope's work may be kept. */
  async #assertWhole(scope: Scope): Promise<void> {
    await this.#session.idle();
    if (scope.ended) throw closedError();
    if (scope.failed) throw scope.failed.error;
    if (this.#broken) throw this.#broken;
    if (scope.leaves) await this.#session.tidy();
    if (this.#stack.at(-1) !== scope) throw unfinishedError("an attempt that another attempt was begun beside");
    scope.native?.assertSettled();
    if (!this.#session.isSound) throw this.#break(new Error("The transaction ended from within"));
  }

  /** Undoes a scope's work; gives the error that its caller is to see. */
  async #undone(scope: Scope, error: unknown): Promise<unknown> {
    if (scope.ended) return error;
    this.#pop(scope);
    if (scope.begun && scope.depth === 1) this.#onUndone?.();
    if (!this.#broken && scope.begun && !this.#hasSavepoint(scope)) {
      this.#break(lostRace("it was begun without savepoints, and one of its attempts is to be undone"));
    } else if (!this.#broken && scope.begun) {
      const undo = `ROLLBACK TO ${savepoint(scope)}; RELEASE ${savepoint(scope)}`;
      await this.#session.send({ text: undo }, "rollback").catch((error_: unknown) => this.#break(error_));
      this.#session.unbound();
    }
    if (!this.#broken) return error;
    return hasCode(causeOf(this.#broken), "RACE_LOST") ? causeOf(this.#broken) : this.#broken;
  }

  #met(scope: Scope, error: unknown): unknown {
    if (this.#session.lost || hasCode(error, "RACE_LOST")) this.#break(error);
    // What was sent behind a failure fails by it, and says nothing of its own.
    else if (hasCode(error, "TRANSACTION_POISONED") && scope.failed) return poisoned(scope.failed.error);
    scope.failed ??= { error };
    return error;
  }

  #break(cause: unknown): CounterfoilError {
    const message =
      "Cannot go on: the transaction is gone, by a lost connection or a lost race, or was ended from within";
    this.#broken ??= new CounterfoilError("TRANSACTION_BROKEN", message, { cause });
    return this.#broken;
  }
}

/** Gives up waiting for a body whose time is over, whatever it does. */
async function inAll<T>(settled: Promise<T>, withinMs: number): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(slowError(withinMs)), withinMs);
  try {
    return await Promise.race([settled, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** What broke a transaction, where that has a code of its own. */
function causeOf(broken: CounterfoilError): CounterfoilError {
  return broken.cause instanceof CounterfoilError ? broken.cause : broken;
}

function savepoint({ depth }: Scope): string {
  return `SAVEPOINT counterfoil_${depth}`;
}

function poisoned(cause: unknown): CounterfoilError {
  return new CounterfoilError(
    "TRANSACTION_POISONED",
    "Cannot use the transaction: an earlier statement failed; let its error go out",
    { cause },
  );
}
