/**
 * One user body inside an open transaction: a handler, a settled hook, or the application's own work.
 *
 * Everything the body does goes through the unit, so that
 * - a failed statement poisons it: later statements throw, and a body that swallowed the failure still fails;
 * - its obligations are owed in one call at the end, in the same transaction;
 * - a body that leaves something of the transaction behind when it settles has not finished: it fails,
 *   and nothing it left behind can touch the transaction;
 * - all of it is undone when the body throws or decides against its event.
 */
import { canonicalJson, sha256 } from "../domain/digest.ts";
import type { Effect, Owe } from "../domain/effect.ts";
import { CounterfoilError, hasCode } from "../domain/errors.ts";
import type { WorkContext } from "../domain/handler.ts";
import type { Json } from "../domain/json.ts";
import { Misuse } from "../domain/misuse.ts";
import { joinKey, namePart } from "../domain/names.ts";
import type { AnyResource, Refresh, Resource, SnapshotInput, SnapshotResult } from "../domain/resource.ts";
import { check } from "../domain/schema.ts";
import { type InternalTx, runText, type SqlValue, type Tx } from "../domain/sql.ts";
import type { Withdraw } from "../domain/withdraw.ts";
import { type ObligationDraft, type RefreshDraft, type StoreTx, unknownRevision } from "../store/store.ts";
import { draftObligation, type OwedInput, type Scope } from "./owe.ts";
import { revisionText } from "./revision.ts";
import type { Runtime } from "./runtime.ts";
import type { Signals } from "./wake.ts";
import { withdrawOperation } from "./withdraw.ts";

/** What a unit works in and for. */
export interface UnitOptions {
  readonly scope: Scope;
  readonly runtime: Runtime;
  readonly signals: Signals;
  /** Take a snapshot's content also on a tie: an operator chose it. */
  readonly force?: boolean;
  /** What an unknown revision stands for: what was kept when a source was asked. Where that is unknown too, nothing known gives way. */
  readonly kept?: string;
  /** Time of the whole body, its statements included, where an engine can bound it. */
  readonly withinMs?: number;
  /** Takes what is owed, for whoever owes it later in the same transaction; by default it is owed at once. */
  readonly oweLater?: ((drafts: readonly ObligationDraft[]) => void) | undefined;
  /** Collects what its snapshots contradict and a source can be asked for. */
  readonly ties?: RefreshDraft[];
}

/** Runs a body as a unit; rejects with its error after undoing its work. */
export async function runUnit<T>(
  storeTx: StoreTx,
  options: UnitOptions,
  body: (context: WorkContext, unit: Unit) => Promise<T> | T,
): Promise<T> {
  const { withinMs } = options;
  const unit = new Unit(storeTx, options);
  const run = async (): Promise<T> => {
    const value = await body(unit, unit);
    await unit.finish();
    return value;
  };
  try {
    const value = await storeTx.attempt(run, withinMs === undefined ? {} : { withinMs });
    unit.handOver();
    return value;
  } finally {
    unit.close(ended);
  }
}

export class Unit implements WorkContext {
  readonly tx: InternalTx;
  /** The worst that a snapshot of this unit met. */
  worst: "applied" | "stale" | "conflict" = "applied";
  readonly #storeTx: StoreTx;
  readonly #options: UnitOptions;
  readonly #drafts: ObligationDraft[] = [];
  /** Obligations that were owed already, since something was taken back after them. */
  #written = 0;
  #closed: string | undefined;
  /** Calls whose end nobody can have seen yet. */
  #inFlight = 0;
  /** Something used the unit after its body had settled. */
  #usedLate = false;
  #poison: { readonly error: unknown } | undefined;

  constructor(storeTx: StoreTx, options: UnitOptions) {
    this.#storeTx = storeTx;
    this.#options = options;
    this.tx = new UnitTx(this, storeTx);
  }

  readonly owe: Owe = (effect, owed) => this.use(async () => this.#draft(effect as Effect<never>, owed));

  readonly withdraw: Withdraw = (key) =>
    this.use(async () => {
      if (this.#options.oweLater) throw new OwesLater();
      // What this body owes stands before what it takes back.
      await this.#writeOwed();
      return withdrawOperation(this.#storeTx, joinKey(key), this.#options);
    });

  readonly snapshot = <State>(resource: Resource<State>, input: SnapshotInput<State>): Promise<SnapshotResult> =>
    this.use(() => this.#snapshot(resource, input));

  readonly refresh: Refresh = (resource, { id }) =>
    this.use(async () => {
      await this.#storeTx.wantRefreshes([this.#refreshOf(resource, id)]);
      this.#options.signals.arrived = true;
    });

  readonly arrived = (kind: string, id: string): Promise<void> =>
    this.use(async () => {
      const name = { kind: named(kind, "arrived"), id: named(id, "arrived") };
      const { tenant } = this.#options.scope;
      await this.#storeTx.lockNames(tenant, [name]);
      if ((await this.#storeTx.arrive(tenant, name)) > 0) this.#options.signals.arrived = true;
    });

  /** Ends the unit early: later use throws, saying why. */
  close(why: string): void {
    this.#closed ??= why;
  }

  /** To be asked right when a body has settled: throws where a call failed, or was not awaited. */
  assertAwaited(): void {
    if (this.#poison) throw this.#poison.error;
    if (this.#inFlight > 0) throw notAwaited();
  }

  /** Writes what was owed; throws when the body failed, left something behind, or took a key that has other input. */
  async finish(): Promise<void> {
    this.assertAwaited();
    this.close(ended);
    // A helper that was left behind gets the turns it needs to come to its next call, which gives it away.
    for (let turn = 0; turn < leftoverTurns; turn += 1) await Promise.resolve();
    if (this.#usedLate) throw notAwaited();
    if (!this.#options.oweLater) await this.#writeOwed();
  }

  /** Gives away what is owed later, once all else is there to stay. */
  handOver(): void {
    this.#options.oweLater?.(this.#drafts);
  }

  async #writeOwed(): Promise<void> {
    const drafts = this.#drafts.splice(0);
    this.#written += drafts.length;
    await oweAll(this.#storeTx, drafts, this.#options.signals);
  }

  #draft(effect: Effect<never>, owed: OwedInput): void {
    const { scope, runtime } = this.#options;
    if (this.#written + this.#drafts.length >= runtime.limits.obligationsPerEvent) {
      throw new RangeError(
        `Cannot owe more: one transaction may owe ${runtime.limits.obligationsPerEvent} obligations; split the work`,
      );
    }
    this.#drafts.push(draftObligation(effect, owed, { scope, runtime }));
  }

  /** A row that came without a revision may be older than anything: where a source can be asked, it is. */
  async #refreshUnknown(resource: AnyResource, id: string): Promise<void> {
    if (this.#options.runtime.resources.get(resource.kind) !== resource) return;
    await this.#storeTx.wantRefreshes([this.#refreshOf(resource, id)]);
    this.#options.signals.arrived = true;
  }

  #refreshOf(resource: AnyResource, id: string): RefreshDraft {
    const { scope, runtime } = this.#options;
    if (scope.connection === "") {
      throw new Misuse(`Cannot refresh ${resource.kind}: states are kept for a connection; name it in app.transaction`);
    }
    if (runtime.resources.get(resource.kind) !== resource) {
      throw new Misuse(
        `Cannot refresh ${resource.kind}: it declares no fetch, or is not registered; add it to resources in defineApp`,
      );
    }
    const { tenant, connection, account } = scope;
    return { tenant, connection, account, kind: resource.kind, id: named(id, "refresh") };
  }

  async #snapshot<State>(resource: Resource<State>, input: SnapshotInput<State>): Promise<SnapshotResult> {
    const { scope, force = false, kept } = this.#options;
    if (scope.connection === "") {
      throw new Misuse(
        `Cannot apply snapshot of ${resource.kind}: snapshots are kept for a connection; name it in app.transaction`,
      );
    }
    const state = "state" in input ? fitting(resource, input.state) : undefined;
    const given = revisionOf(resource, input.revision);
    const revision = given === unknownRevision ? (kept ?? given) : given;
    const content = state === undefined ? null : canonicalJson(state as Json);
    const result = await this.#storeTx.snapshot({
      connection: scope.connection,
      account: scope.account,
      kind: resource.kind,
      id: named(input.id, "snapshot"),
      revision,
      digest: content === null ? "deleted" : sha256(content),
      state: content,
      force: force && !(kept !== undefined && revision === unknownRevision),
    });
    if (result === "conflict") {
      this.worst = "conflict";
      if (this.#options.runtime.resources.get(resource.kind) === resource) {
        this.#options.ties?.push(this.#refreshOf(resource, input.id));
      }
      throw new CounterfoilError(
        "SNAPSHOT_CONFLICT",
        `Cannot apply snapshot of ${resource.kind}: revision ${revision} is kept with other content; an operator has to choose`,
      );
    }
    if (result === "stale" && this.worst === "applied") this.worst = "stale";
    if (result === "applied" && revision === unknownRevision && !force) await this.#refreshUnknown(resource, input.id);
    if (result === "applied" && resource.write) {
      await resource.write({ tx: this.tx, ...scope, id: input.id, revision, state });
    }
    return result;
  }

  /** Runs one use of the transaction; its failure poisons the unit, also when nobody awaits it. */
  use<T>(run: () => Promise<T>): Promise<T> {
    const result = this.#guarded(run);
    this.#inFlight += 1;
    const settled = (): void => void (this.#inFlight -= 1);
    result.then(settled, settled);
    return result;
  }

  async #guarded<T>(run: () => Promise<T>): Promise<T> {
    this.assertOpen();
    try {
      return await run();
    } catch (error) {
      // A conflict was found by reading, not by a failed statement: a handler may catch it and go on.
      if (!hasCode(error, "SNAPSHOT_CONFLICT")) this.#poison ??= { error };
      throw error;
    }
  }

  /** @throws CounterfoilError TRANSACTION_CLOSED after its end, TRANSACTION_POISONED after a failure. */
  assertOpen(): void {
    if (this.#closed !== undefined) {
      this.#usedLate ||= this.#closed === ended;
      throw new CounterfoilError(
        "TRANSACTION_CLOSED",
        `Cannot use the transaction: ${this.#closed}; await every statement before returning`,
      );
    }
    if (this.#poison) {
      throw new CounterfoilError(
        "TRANSACTION_POISONED",
        "Cannot use the transaction: an earlier statement failed; let its error go out",
        {
          cause: this.#poison.error,
        },
      );
    }
  }
}

/** Owes all in one call. @throws CounterfoilError OPERATION_CONFLICT where a key is taken, or was withdrawn. */
export async function oweAll(storeTx: StoreTx, drafts: readonly ObligationDraft[], signals: Signals): Promise<void> {
  if (drafts.length === 0) return;
  const owed = await storeTx.owe(drafts);
  const taken = owed.findIndex(({ kind }) => kind === "conflict" || kind === "withdrawn");
  if (taken !== -1) throw operationConflict(drafts[taken], owed[taken]?.kind === "withdrawn");
  if (owed.some(({ kind }) => kind === "created")) signals.owed = true;
}

/** A body takes something back before others have owed what they owe: all have to run again, each owing at once. */
export class OwesLater extends Error {
  override readonly name = "OwesLater";
}

const ended = "it has ended";

/** Turns of the microtask queue: a statement takes two, a promise that is handed on three. */
const leftoverTurns = 4;

function notAwaited(): CounterfoilError {
  return new CounterfoilError(
    "HANDLER_UNFINISHED",
    "Cannot keep this work: a call of tx, owe, withdraw, snapshot or arrived was not awaited; await each before returning",
  );
}

/** The unit's transaction as its body has it. */
class UnitTx implements InternalTx {
  readonly #unit: Unit;
  readonly #storeTx: StoreTx;

  constructor(unit: Unit, storeTx: StoreTx) {
    this.#unit = unit;
    this.#storeTx = storeTx;
  }

  readonly sql: Tx["sql"] = ((text: TemplateStringsArray, ...values: readonly (SqlValue | Date)[]) =>
    this.#unit.use(() => this.#storeTx.query(asTemplate(text), values.map(bound)))) as Tx["sql"];

  get native(): unknown {
    this.#unit.assertOpen();
    return this.#storeTx.native;
  }

  [runText](text: string, values: readonly SqlValue[]): ReturnType<InternalTx[typeof runText]> {
    return this.#unit.use(() => this.#storeTx.run(text, values));
  }
}

function asTemplate(text: TemplateStringsArray): TemplateStringsArray {
  if (Array.isArray(text)) return text;
  throw new Misuse(
    "Cannot run a statement: sql is a tag, so that values are bound; write tx.sql`SELECT ...` without parentheses",
  );
}

function bound(value: SqlValue | Date, index: number): SqlValue {
  if (value === undefined) {
    throw new Misuse(`Cannot bind value ${index + 1}: it is undefined; use null for no value`);
  }
  return value instanceof Date ? value.toISOString() : value;
}

function named(part: unknown, action: string): string {
  const problem = namePart(part);
  if (problem !== undefined) throw new Misuse(`Cannot call ${action}: a name ${problem}`);
  return part as string;
}

function revisionOf<State>({ revision }: Resource<State>, given: number | bigint | string): string {
  if (given === unknownRevision) return given;
  return revisionText(revision === undefined ? given : revision(String(given)));
}

function fitting<State>(resource: Resource<State>, state: unknown): State {
  const checked = check(resource.schema, state);
  if (!checked.fits) {
    throw new Misuse(`Cannot apply snapshot of ${resource.kind}: its state ${checked.issues.join("; ")}`);
  }
  return checked.value;
}

function operationConflict(draft: ObligationDraft | undefined, isWithdrawn: boolean): CounterfoilError {
  const why = isWithdrawn ? "the operation was withdrawn" : "the key is taken by other input";
  return new CounterfoilError(
    "OPERATION_CONFLICT",
    `Cannot owe ${draft?.effect} under key "${draft?.operationKey}": ${why}; an intended replacement needs a new version in its key`,
  );
}
