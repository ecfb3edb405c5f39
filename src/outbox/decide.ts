/**
 * What follows from an attempt: pure, so that every rule about sending again stands in one place.
 *
 *   learned                       may not exist yet          may exist, key good     may exist, key not good
 *   not sent, again, running,     owed, backoff              owed, same bytes,       uncertain: lookup,
 *   unknown, crashed                                         within the key's life   else the operator
 *   done, found, late evidence    settling where a hook is to run, else done
 *   absent                        owed at once: same key while good, else the next generation
 *   permanent, key reused         stuck
 *   a budget is spent             stuck; where a lookup can still tell, uncertain first
 *   any, asked back meanwhile     withdrawn            uncertain               uncertain
 *
 * Invariants, held by property tests: `reached` never falls back. Nothing that may exist is sent again
 * without a good key, an "absent", or an operator. Every step that is not final has a due time, a lease,
 * or a place on the operator's list. Every step spends a budget, so that every path ends.
 *
 * A key whose `keySince` is `null` has not been used; that is what an "absent" gives back by starting a
 * new generation, also where the provider has no contract and the generation only counts such words.
 * While an obligation settles, or is given up, `tries` counts runs of its hook.
 */
import { nextDueMs } from "../domain/backoff.ts";
import { elapsedAtLeastMs, type Instant, type Stamp } from "../domain/instant.ts";
import { keyLifeMs } from "../domain/key-life.ts";
import type { Limits } from "../domain/limits.ts";
import {
  furthest,
  type AttemptKind,
  isAbandoned,
  type Obligation,
  type ObligationState,
  owedDue,
  type Progress,
  type Reached,
  runsHook,
} from "../domain/obligation.ts";
import type { Random } from "../domain/random.ts";
import { withdrawn } from "../domain/withdraw.ts";
import type { EffectPolicy } from "./effect-policy.ts";

/** What a decision stands on, besides what was learned. */
export interface Situation {
  readonly obligation: Obligation;
  readonly policy: EffectPolicy;
  readonly limits: Limits;
  readonly random: Random;
  /** When the attempt was claimed, and now. */
  readonly claimedAt: Stamp;
  readonly stamp: Stamp;
  /** Whether the decider holds the lease, and can go on under it. */
  readonly holder: boolean;
}

/** What one attempt learned. Reasons are for people and hold no payload. */
export type Learned =
  /** It never started. */
  | { readonly kind: "released"; readonly attempt: AttemptKind }
  /** It did not start because `beforeSend` said so. */
  | { readonly kind: "halted" }
  | Sent
  /** The effect exists, by a 2xx, a lookup, or an earlier attempt's late answer. `unfit` says what is wrong with the answer. */
  | { readonly kind: "exists"; readonly by: "send" | "lookup" | "evidence"; readonly unfit: string | null }
  | { readonly kind: "absent" }
  | { readonly kind: "lookup_unknown"; readonly reason: string; readonly retryAfterMs?: number | undefined }
  | { readonly kind: "hooked" }
  | { readonly kind: "hook_failed"; readonly reason: string }
  /** The lease ran out with the attempt unfinished. */
  | { readonly kind: "crashed" };

/** A call that did not say "done". */
export interface Sent {
  readonly kind: "sent";
  readonly verdict: "not_sent" | "again" | "unknown" | "running" | "pause" | "permanent" | "key_reused";
  /** Whether the effect may exist, going by this call alone. */
  readonly reached: Reached;
  readonly reason: string;
  readonly retryAfterMs?: number | undefined;
}

/** The step that a decision takes. */
export interface Step {
  readonly to: Progress;
  /** The next step, the hook, runs under the same lease. */
  readonly keepLease: boolean;
  /** Set where the destination refuses this caller: it is paused in the same transaction. */
  readonly pause?: string;
  /** The key's life ended before the outcome was known. */
  readonly keyExpired?: true;
}

/** Decides what follows from what an attempt learned. */
export function decide(situation: Situation, learned: Learned): Step {
  const next = follow(situation, learned);
  return situation.obligation.cancelRequested ? heeded(situation, learned, next) : next;
}

/** No new attempt begins once the application has asked for the operation back. */
function heeded(situation: Situation, { kind }: Learned, next: Step): Step {
  const { to, pause } = next;
  if (to.state !== "owed" && to.state !== "stuck") return next;
  if (to.reached === "no" || to.keySince === null || kind === "absent") {
    const dueAt = situation.policy.abandoned ? situation.stamp.wallMs : null;
    return { to: withdrawn(to, dueAt), keepLease: false, ...(pause !== undefined && { pause }) };
  }
  return to.state === "stuck" ? next : uncertain(situation, to, to.reason ?? "it was asked back while it was sent");
}

function follow(situation: Situation, learned: Learned): Step {
  const { obligation, stamp } = situation;
  switch (learned.kind) {
    case "released":
      return step(obligation, { state: restingState(obligation, learned.attempt), dueAt: stamp.wallMs });
    case "halted":
      return beforeSend(situation) ?? follow(situation, { kind: "released", attempt: "send" });
    case "sent":
      return afterSend(situation, learned);
    case "exists":
      return afterSuccess(situation, learned);
    case "absent":
      return afterAbsent(situation);
    case "lookup_unknown":
      return lookAgain(situation, learned.reason, learned.retryAfterMs);
    case "hooked":
      return afterHook(obligation);
    case "hook_failed":
      return afterHookFailure(situation, learned.reason);
    case "crashed":
      return afterCrash(situation);
    default:
      throw new Error(`Bug: nothing follows from ${String(learned satisfies never)}`);
  }
}

function restingState({ state }: Obligation, attempt: AttemptKind): ObligationState {
  if (attempt === "send") return "owed";
  if (attempt === "lookup") return "uncertain";
  return attempt === "settle" ? "settling" : state;
}

const keyOver = "it may have taken effect, and its key is no longer good";

/**
 * Looks at the key right after the claim: `undefined` when the request may go out. A key that died
 * while nothing can exist is renewed; otherwise the outcome has to be found out first.
 */
export function beforeSend(situation: Situation): Step | undefined {
  const { obligation, stamp } = situation;
  if (obligation.keySince === null || keyLeftMs(situation, obligation) > 0) return undefined;
  if (obligation.reached !== "no") return uncertain(situation, obligation, keyOver);
  return step(nextGeneration(obligation), { state: "owed", dueAt: stamp.wallMs });
}

/** What is left of the life of an obligation's key; 0 where there is no contract and it may have been used. */
export function keyLeftMs({ policy, stamp }: Situation, { keySince }: Pick<Progress, "keySince">): number {
  return policy.key === null ? 0 : keyLifeMs({ ...policy.key, since: keySince }, stamp);
}

function afterSend(situation: Situation, sent: Sent): Step {
  const { obligation, policy, stamp, claimedAt } = situation;
  // A provider starts a key's life when it sees the key. Without a contract there is none to see, only an effect that may exist.
  const used = policy.key === null ? sent.reached !== "no" : sent.verdict !== "not_sent";
  const next: Progress = {
    ...obligation,
    reached: furthest(obligation.reached, sent.reached),
    keySince: obligation.keySince ?? (used ? claimedAt : null),
    lastCallEndedAt: sent.reached === "no" ? obligation.lastCallEndedAt : stamp,
    tries: obligation.tries + 1,
    crashes: 0,
  };
  if (sent.verdict === "permanent" || sent.verdict === "key_reused") return stuck(next, sent.reason);
  const again = sendAgain(situation, next, { failures: next.tries, ...sent });
  return sent.verdict === "pause" ? { ...again, pause: sent.reason } : again;
}

interface Again {
  readonly failures: number;
  readonly reason: string;
  readonly retryAfterMs?: number | undefined;
}

/** Owed again if that is safe; else the outcome has to be found out. */
function sendAgain(situation: Situation, next: Progress, { failures, reason, retryAfterMs }: Again): Step {
  const { limits, policy, stamp } = situation;
  const spent = next.tries >= policy.attemptsMax;
  const dueAt = nextDue(situation, failures, retryAfterMs);
  if (next.reached === "no" || next.keySince === null) {
    return spent ? triesSpent(next, reason) : step(next, { state: "owed", dueAt, reason });
  }
  if (spent && policy.lookup === null) return triesSpent(next, reason);
  // The claim that follows needs time to happen: two polls.
  const latest = stamp.wallMs + keyLeftMs(situation, next) - 2 * limits.pollMs;
  const wished = stamp.wallMs + Math.min(retryAfterMs ?? 0, limits.retryAfterMaxMs);
  if (spent || wished > latest) return uncertain(situation, next, reason);
  return step(next, { state: "owed", dueAt: Math.min(dueAt, latest), reason });
}

function uncertain(situation: Situation, next: Progress, reason: string): Step {
  const { policy } = situation;
  const dueAt = policy.lookup === null ? null : lookupDue(situation, next);
  const to = step(next, { state: "uncertain", dueAt, reason });
  return policy.key !== null && keyLeftMs(situation, next) === 0 ? { ...to, keyExpired: true } : to;
}

/** The first instant at which "absent" counts. */
function lookupDue({ policy, stamp }: Situation, { lastCallEndedAt }: Progress): Instant {
  const waitedMs = lastCallEndedAt === null ? Number.POSITIVE_INFINITY : elapsedAtLeastMs(lastCallEndedAt, stamp);
  return stamp.wallMs + Math.max(0, (policy.lookup?.settleDelayMs ?? 0) - Math.max(0, waitedMs));
}

function afterAbsent(situation: Situation): Step {
  const { obligation, policy, stamp, claimedAt, limits } = situation;
  const { lastCallEndedAt } = obligation;
  const settleDelayMs = policy.lookup?.settleDelayMs ?? 0;
  if (lastCallEndedAt !== null && elapsedAtLeastMs(lastCallEndedAt, claimedAt) < settleDelayMs) {
    return lookAgain(situation, "absent, but too soon after the call to count");
  }
  const looked = { ...obligation, lookups: obligation.lookups + 1, crashes: 0 };
  const next = keyLeftMs(situation, looked) > 2 * limits.pollMs ? looked : nextGeneration(looked);
  const reason = "the lookup found nothing";
  if (next.tries >= policy.attemptsMax) return triesSpent(next, reason);
  return step(next, { state: "owed", dueAt: owedDue(obligation, stamp.wallMs), reason });
}

function lookAgain(situation: Situation, reason: string, retryAfterMs?: number): Step {
  const { obligation, limits, policy } = situation;
  const next = { ...obligation, lookups: obligation.lookups + 1, crashes: 0 };
  if (policy.lookup === null) return uncertain(situation, next, reason);
  if (next.lookups >= limits.lookupsMax) {
    return stuck(next, `${next.lookups} lookups told nothing, the last: ${reason}`);
  }
  const dueAt = Math.max(nextDue(situation, next.lookups, retryAfterMs), lookupDue(situation, next));
  return step(next, { state: "uncertain", dueAt, reason });
}

function afterSuccess(situation: Situation, { by, unfit }: Extract<Learned, { kind: "exists" }>): Step {
  const { obligation, policy, stamp, holder } = situation;
  const next: Progress = {
    ...obligation,
    reached: "yes",
    lookups: obligation.lookups + (by === "lookup" ? 1 : 0),
    crashes: 0,
    reason: unfit,
  };
  if (!policy.hook) return step(next, { state: "done" });
  const settling: Progress = { ...next, tries: 0 };
  if (unfit !== null) return step(settling, { state: "settling" });
  const to = step(settling, { state: "settling", dueAt: holder ? null : stamp.wallMs });
  return { ...to, keepLease: holder };
}

function afterHook(obligation: Obligation): Step {
  const { state } = obligation;
  if (isAbandoned(state)) return step({ ...obligation, tries: 0 }, { state });
  return step(obligation, { state: "done", reason: null });
}

/** Why it was given up stays with an obligation; how its hook failed is told by the attempt. */
function afterHookFailure(situation: Situation, reason: string): Step {
  const { obligation, limits } = situation;
  const { state } = obligation;
  const next = { ...obligation, tries: obligation.tries + 1 };
  const dueAt = next.tries >= limits.hookTriesMax ? null : nextDue(situation, next.tries);
  return isAbandoned(state) ? step(next, { state, dueAt }) : step(next, { state: "settling", dueAt, reason });
}

function afterCrash(situation: Situation): Step {
  const { obligation, limits, stamp, claimedAt } = situation;
  if (runsHook(obligation.state)) return afterHookFailure(situation, "its worker was lost while the hook ran");
  const crashes = obligation.crashes + 1;
  const sent: Partial<Progress> =
    obligation.state === "uncertain"
      ? {}
      : {
          reached: furthest(obligation.reached, "maybe"),
          keySince: obligation.keySince ?? claimedAt,
          lastCallEndedAt: stamp,
        };
  const next: Progress = { ...obligation, ...sent, crashes };
  if (crashes >= limits.crashesMax) return stuck(next, `crashed worker: ${crashes} were lost in a row`);
  const reason = "its worker was lost";
  if (obligation.state !== "uncertain") return sendAgain(situation, next, { failures: crashes, reason });
  return step(next, { state: "uncertain", dueAt: nextDue(situation, crashes), reason });
}

function nextGeneration(progress: Progress): Progress {
  return { ...progress, generation: progress.generation + 1, keySince: null };
}

function stuck(next: Progress, reason: string): Step {
  return step(next, { state: "stuck", reason });
}

function triesSpent(next: Progress, reason: string): Step {
  return stuck(next, `${next.tries} tries spent, the last: ${reason}`);
}

function nextDue({ limits, random, stamp }: Situation, failures: number, retryAfterMs?: number): Instant {
  return nextDueMs(stamp.wallMs, {
    failures: Math.max(1, failures),
    backoff: { firstMs: limits.retryFirstMs, maxMs: limits.retryMaxMs },
    random,
    retryAfterMs,
    retryAfterMaxMs: limits.retryAfterMaxMs,
  });
}

interface Place {
  readonly state: ObligationState;
  /** Never unless said. */
  readonly dueAt?: Instant | null;
  /** As it was unless said. */
  readonly reason?: string | null;
}

/** Exactly the members of `Progress`, at a new place. */
function step(progress: Progress, { state, dueAt = null, reason = progress.reason }: Place): Step {
  const { reached, generation, keySince, tries, lookups, crashes, lastCallEndedAt } = progress;
  return {
    to: { state, reached, generation, keySince, tries, lookups, crashes, lastCallEndedAt, dueAt, reason },
    keepLease: false,
  };
}
