/** Runs one handler as a unit and turns what came of it into a decision. */
import { errorSummary } from "../domain/error-summary.ts";
import { CounterfoilError, hasCode } from "../domain/errors.ts";
import type { Event, Handler, HandlerContext, Verdict, WorkContext } from "../domain/handler.ts";
import { Misuse } from "../domain/misuse.ts";
import { namePart } from "../domain/names.ts";
import { conflictReasons, type Decision, type Prerequisite, unmappedReason } from "../domain/outcome.ts";
import type { RefreshDraft, StoreTx } from "../store/store.ts";
import { refreshed } from "../work/refreshed.ts";
import type { Runtime } from "../work/runtime.ts";
import { OwesLater, runUnit, type Unit, type UnitOptions } from "../work/unit.ts";
import type { Signals } from "../work/wake.ts";

/** What came of a run: a decision, or a failure that the connection's policy has to place. */
export type Ran =
  | { readonly kind: "decided"; readonly decision: Decision }
  | { readonly kind: "failed"; readonly error: unknown };

export interface HandlerRun {
  readonly event: Event;
  readonly handler: Handler;
  readonly receiptId: number;
  /** Take snapshots also on a tie: an operator chose this event's content. */
  readonly force: boolean;
  /** Time of the run, its statements included; without, only what it waits for beside them is bounded. */
  readonly withinMs?: number;
  /** The source has been asked about this event's conflict: its word is what is kept now. */
  readonly isRefreshed?: boolean;
}

/** Thrown through the unit to undo its work when the handler decided against its event. */
class Decided extends Error {
  readonly decision: Decision;

  constructor(decision: Decision) {
    super("decided");
    this.decision = decision;
  }
}

/** What a handler runs in, beside its transaction. */
export interface Surroundings {
  readonly runtime: Runtime;
  readonly signals: Signals;
  readonly oweLater?: UnitOptions["oweLater"];
}

/**
 * Runs the handler inside the open transaction. Its work is there only when the decision keeps it.
 *
 * Where other processes may commit meanwhile, a handler that wants to wait runs once more under the
 * lock that an arrival takes, so that no arrival between its look and its parking is missed.
 */
export async function runHandler(storeTx: StoreTx, run: HandlerRun, surroundings: Surroundings): Promise<Ran> {
  const first = await runOnce(storeTx, run, surroundings);
  const { outcome, waitsFor } = first.kind === "decided" ? first.decision : {};
  if (waitsFor === undefined || outcome !== "parked") return first;
  // Behind a savepoint: whoever holds the name for long fails nobody but this event.
  await storeTx.attempt(() => storeTx.lockNames(run.event.tenant, [waitsFor]));
  return surroundings.runtime.store.capabilities.concurrentWriters ? runOnce(storeTx, run, surroundings) : first;
}

async function runOnce(storeTx: StoreTx, run: HandlerRun, surroundings: Surroundings): Promise<Ran> {
  const ties: RefreshDraft[] = [];
  const ran = await runUnitOf(storeTx, { ...run, ties }, surroundings);
  const [tie] = ties;
  if (ran.kind === "failed" || ran.decision.outcome !== "conflict" || !tie) return ran;
  if (run.isRefreshed) {
    return { kind: "decided", decision: { outcome: "resolved", reason: "its source has other content" } };
  }
  // Outside of the handler's work, which is undone: the source decides, and the event is looked at once more.
  await storeTx.attempt(() => storeTx.wantRefreshes(ties));
  surroundings.signals.arrived = true;
  return { kind: "decided", decision: { ...ran.decision, waitsFor: refreshed(tie) } };
}

async function runUnitOf(
  storeTx: StoreTx,
  run: HandlerRun & { readonly ties: RefreshDraft[] },
  { runtime, signals, oweLater }: Surroundings,
): Promise<Ran> {
  const { event, handler, receiptId, force, ties, withinMs } = run;
  const scope = { tenant: event.tenant, connection: event.connection, account: event.account, receiptId };
  const options = { scope, runtime, signals, force, ties, oweLater, ...(withinMs !== undefined && { withinMs }) };
  try {
    const worst = await runUnit(storeTx, options, async (work, unit) => {
      const verdicts = new Verdicts(unit);
      try {
        await handler.handle(contextOf(event, work, verdicts));
        unit.assertAwaited();
      } catch (error) {
        // What a handler decided stands, also when it went on and failed on the closed transaction.
        if (!verdicts.decision) throw error;
      }
      if (verdicts.decision) throw new Decided(verdicts.decision);
      return unit.worst;
    });
    return {
      kind: "decided",
      decision: { outcome: worst, reason: worst === "conflict" ? conflictReasons.snapshot : null },
    };
  } catch (error) {
    return failed(error);
  }
}

function failed(error: unknown): Ran {
  if (error instanceof Decided) return { kind: "decided", decision: error.decision };
  if (hasCode(error, "SNAPSHOT_CONFLICT")) {
    return { kind: "decided", decision: { outcome: "conflict", reason: conflictReasons.snapshot } };
  }
  if (hasCode(error, "OPERATION_CONFLICT")) {
    return { kind: "decided", decision: { outcome: "conflict", reason: conflictReasons.operation } };
  }
  if (isTransactionTrouble(error) || error instanceof OwesLater) throw error;
  return { kind: "failed", error };
}

/** Errors that end the whole transaction; no single handler can answer for them. */
export function isTransactionTrouble(error: unknown): boolean {
  return hasCode(
    error,
    "TRANSACTION_BROKEN",
    "RACE_LOST",
    "STORE_BUSY",
    "STORE_FULL",
    "STORE_UNAVAILABLE",
    "STORE_CORRUPT",
  );
}

/** The error of a handler as its caller sees it: named and coded, its own message kept as the cause only. */
export function handlerError(error: unknown, event: { readonly id: string; readonly type: string }): CounterfoilError {
  if (hasCode(error, "HANDLER_FAILED")) return error;
  if (hasCode(error, "HANDLER_UNFINISHED", "TRANSACTION_CONTROL", "TRANSACTION_POISONED", "TRANSACTION_CLOSED")) {
    return error;
  }
  return new CounterfoilError(
    "HANDLER_FAILED",
    `Cannot apply event "${event.id}" of type "${event.type}": its handler failed with ${errorSummary(error)}`,
    {
      cause: error,
    },
  );
}

/** What a failed handler leaves its event: held, with the failure described but not quoted. */
export function heldBy(
  runtime: Runtime,
  event: { readonly connection: string; readonly eventId: string; readonly type: string },
  error: unknown,
): Decision {
  const { code, cause } = handlerError(error, { id: event.eventId, type: event.type });
  const summary = errorSummary(cause ?? error);
  runtime.emit({ kind: "handler.failed", connection: event.connection, eventId: event.eventId, code, summary });
  return { outcome: "held", reason: `${code}: ${summary}` };
}

/** Collects what a handler states; the first statement decides. */
class Verdicts {
  readonly #unit: Unit;
  decision: Decision | undefined;

  constructor(unit: Unit) {
    this.#unit = unit;
  }

  decide(decision: Decision, word: string): Verdict {
    this.decision ??= decision;
    this.#unit.close(`the handler said ${word}`);
    return {} as Verdict;
  }
}

function contextOf(event: Event, work: WorkContext, verdicts: Verdicts): HandlerContext {
  return {
    event,
    tx: work.tx,
    owe: work.owe,
    withdraw: work.withdraw,
    snapshot: work.snapshot,
    refresh: work.refresh,
    arrived: work.arrived,
    waitFor: (kind, id) => {
      const waitsFor = prerequisite(kind, id);
      return verdicts.decide({ outcome: "parked", reason: `waits for ${kind}`, waitsFor }, "waitFor");
    },
    refuse: (reason) => verdicts.decide({ outcome: "refused", reason: reasonText(reason) }, "refuse"),
    ignore: (reason) => verdicts.decide({ outcome: "ignored", reason: reasonText(reason) }, "ignore"),
  };
}

const reasonLengthMax = 512;

/** A handler's reason, bounded, and never mistaken for the engine's own word. */
function reasonText(reason: unknown): string {
  const text = String(reason).slice(0, reasonLengthMax);
  return text === unmappedReason ? `${text}, says the handler` : text;
}

function prerequisite(kind: string, id: string): Prerequisite {
  for (const part of [kind, id]) {
    const problem = namePart(part);
    if (problem !== undefined) throw new Misuse(`Cannot wait: a name ${problem}`);
  }
  return { kind, id };
}
