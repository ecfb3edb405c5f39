import type { Instant } from "../domain/instant.ts";
import { isAbandoned, type Obligation, type ObligationState, runsHook } from "../domain/obligation.ts";
import { behindReason, conflictReasons, isFinal, lostReason, unmappedReason } from "../domain/outcome.ts";
import type { Receipt } from "../domain/receipt.ts";
import type { KeyStanding } from "./key-standing.ts";

/** What happens next, by itself or by an operator, in words for people. */
export interface NextStep {
  readonly text: string;
  /** When; `null` when no time is set for it. */
  readonly at: Instant | null;
  /** Only an operator can take it further. */
  readonly needsOperator: boolean;
}

/** What the next step of an obligation depends on. */
export interface Outlook {
  readonly obligation: Obligation;
  readonly key: KeyStanding;
  /** Whether its effect has a lookup. */
  readonly canLookUp: boolean;
  readonly lease: { readonly live: boolean } | null;
  /** Whether its destination is paused. */
  readonly paused: boolean;
  /** The first of its order key, where that is another one and not decided. */
  readonly waitsBehind: { readonly operationKey: string; readonly state: ObligationState } | null;
}

/** Says what happens next to an obligation, and when. */
export function nextOfObligation(outlook: Outlook): NextStep {
  const { obligation, lease, paused, waitsBehind } = outlook;
  const { state, dueAt } = obligation;
  if (state === "done" || (isAbandoned(state) && dueAt === null && lease === null)) return closed(obligation);
  if (lease !== null) {
    return byItself(lease.live ? underWay(obligation) : "a worker takes note that the one before was lost", null);
  }
  if (waitsBehind !== null && state === "owed" && dueAt === null) {
    const text = `it waits behind "${waitsBehind.operationKey}" of its order key, which is ${waitsBehind.state}`;
    return byItself(text, null);
  }
  if (paused && !runsHook(state) && dueAt !== null) {
    return byOperator("its destination is paused: put the credentials right, then resume it");
  }
  return dueAt === null ? byOperator(choices(outlook)) : byItself(whenDue(outlook), dueAt);
}

/** Says what happens next to an event, and when. */
export function nextOfReceipt(
  { outcome, reason, dueAt, deadlineAt }: Receipt,
  { now, paused }: { readonly now: Instant; readonly paused: boolean },
): NextStep {
  if (outcome === "ignored" && reason === unmappedReason) {
    return byItself("nothing, until a handler is mapped to its type; apply then runs it", null);
  }
  if (isFinal(outcome)) return byItself("nothing: the outcome is final", null);
  if (outcome === "conflict" && reason === conflictReasons.operation) {
    return byOperator("mend the operation key in its handler and reprocess it, or resolve it as kept");
  }
  if (outcome === "conflict") return byOperator("resolve it: keep what is there, or take this event's content");
  if (outcome === "suspect") return byOperator("apply it if it is genuine, or resolve it as kept if it is a replay");
  if (outcome === "quarantined") return byOperator("apply it once it can be read, or resolve it as kept");
  if (paused && dueAt !== null) return byOperator("its connection is paused: resume it, or apply this event alone");
  if (outcome === "queued") {
    const text =
      reason === behindReason ? "applied once the earlier event of its order key is decided" : "its handler runs";
    return byItself(text, dueAt);
  }
  if (outcome === "held" && reason === lostReason) {
    return byOperator(
      "find out why its handler ends its process (memory, exit, a native crash), mend it and apply it, or resolve it as kept",
    );
  }
  if (dueAt === null) return byOperator("mend its handler and apply it, or resolve it as kept");
  const late = deadlineAt !== null && deadlineAt <= now;
  const text = outcome === "parked" ? "applied when what it waits for arrives; tried anyway" : "its handler runs again";
  return { text: late ? `${text}; its deadline has passed` : text, at: dueAt, needsOperator: late };
}

/** Closed for good, unless its hook was given up. */
function closed({ state, tries }: Obligation): NextStep {
  if (state === "done" || tries === 0) return byItself("nothing more is owed", null);
  return byOperator("mend its abandoned hook and retry it");
}

function underWay({ state }: Obligation): string {
  if (isAbandoned(state)) return "its abandoned hook is running";
  if (state === "settling") return "its settled hook is running";
  return state === "uncertain" ? "its lookup is running" : "its call is running";
}

function whenDue({ obligation, key }: Outlook): string {
  const { state, reached, keySince } = obligation;
  if (key.kind === "unknown") return `a worker that registers ${obligation.effect} takes it`;
  if (state === "settling") return "its settled hook runs, from the stored answer";
  if (isAbandoned(state)) return "its abandoned hook runs; nothing is sent";
  if (state === "uncertain") return "the provider is asked whether it took effect";
  if (keySince === null || reached === "no") return "it is sent";
  if (key.kind === "good") return "it is sent again: the same request under the same key";
  return "nothing is sent again, since its key is no longer good; its outcome is found out first";
}

function choices({ obligation, key, canLookUp }: Outlook): string {
  const { state, reached, keySince, cancelRequested } = obligation;
  if (cancelRequested && state !== "settling") {
    const ask = canLookUp ? "look it up, or " : "";
    return `${ask}mark it done if it took effect, or cancel it if it did not: the application asked for it back`;
  }
  if (state === "settling") return "retry its settled hook, or mark it done with an answer that fits";
  if (state === "stuck" && (reached === "no" || keySince === null || key.kind === "good")) {
    return "mend the cause and retry it, or cancel it";
  }
  const lookUp = canLookUp ? "look it up, " : "";
  return `${lookUp}mark it done if it took effect, or renew its key if it did not; nothing is sent until then`;
}

function byItself(text: string, at: Instant | null): NextStep {
  return { text, at, needsOperator: false };
}

function byOperator(text: string): NextStep {
  return { text, at: null, needsOperator: true };
}
