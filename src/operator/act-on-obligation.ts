/**
 * The frame of every action on an obligation: one transaction that reads the row under its lock,
 * decides, moves it, and writes the audit row.
 *
 * The fence is the compare-and-set key. A claim raises it and so does an action, so that a second click
 * with the fence of the first, or another operator's, is refused as CHANGED. The lease is read
 * before the transaction; under the same fence it can only have ended since, for a new one would have
 * raised the fence. Late evidence can come under any fence and is read inside.
 */
import type { EffectDefinition } from "../domain/effect.ts";
import type { Instant } from "../domain/instant.ts";
import {
  closedStates,
  type FrozenRequest,
  type Obligation,
  type Progress,
  type StoredAnswer,
} from "../domain/obligation.ts";
import { auditTarget } from "../store/audit-target.ts";
import type { ObligationDetail } from "../store/reader.ts";
import type { StoreTx } from "../store/store.ts";
import { transact } from "../work/transact.ts";
import { type Acted, type Acting, tell } from "./acting.ts";
import { type KeyStanding, keyStanding } from "./key-standing.ts";
import { obligationName } from "./operator-reads.ts";
import { changed, notAllowed, notFound } from "./refusal.ts";

/** Names an obligation, and what the operator saw and thinks. */
export interface ObligationAction {
  readonly tenant: string;
  readonly operationKey: string;
  /** The fence that was seen; without it the action takes the obligation as it is now. */
  readonly fence?: number | undefined;
  /** Why, for the audit. */
  readonly why?: string | undefined;
}

/** An obligation under its lock, with all that a decision reads. */
export interface ObligationFacts {
  readonly obligation: Obligation;
  readonly now: Instant;
  /** The effect as this configuration registers it. */
  readonly effect: EffectDefinition | undefined;
  readonly key: KeyStanding;
  /** The first of its order key, where that is another one and not decided. */
  readonly waitsBehind: ObligationDetail["waitsBehind"];
  /** A call, a lookup or a hook holds the lease now. */
  readonly running: boolean;
  /** What is frozen; `null` once retention has removed it. */
  readonly request: FrozenRequest | null;
  /** The answer that it is settled from. */
  readonly answer: StoredAnswer | null;
  /** An earlier call was answered after its worker had lost it: the effect exists. */
  readonly evidence: boolean;
  /** A refusal of this action with its reason. */
  readonly refuse: (why: string) => Error;
}

/** What an action decided: a move, or that there is nothing to do. */
export type Step = MovingStep | { readonly to: null; readonly says: string };

interface MovingStep {
  /** Where it goes; a whole obligation with changes will do. */
  readonly to: Progress;
  readonly says: string;
  readonly answer?: StoredAnswer;
  /** What is sent from now on. */
  readonly request?: { readonly request: FrozenRequest; readonly digest: string };
}

/** An action: its name and its decision, which throws `facts.refuse(...)` where it does not fit. */
export interface ObligationVerb {
  readonly action: string;
  readonly decide: (facts: ObligationFacts) => Step;
}

/** Budgets that an operator's action renews. */
export const renewed = { tries: 0, lookups: 0, crashes: 0 } as const;

export async function actOnObligation(acting: Acting, request: ObligationAction, verb: ObligationVerb): Promise<Acted> {
  const { runtime } = acting;
  const { tenant, operationKey } = request;
  const thing = obligationName(tenant, operationKey);
  const detail = await runtime.store.reader.obligation(tenant, operationKey);
  if (detail === undefined) throw notFound(thing, "no operation has this key; list the obligations");
  const seen = request.fence ?? detail.obligation.fence;

  const acted = await transact(runtime, async (tx, signals) => {
    const obligation = await tx.lockObligation(tenant, operationKey);
    if (obligation?.fence !== seen || seen !== detail.obligation.fence) throw changed(verb.action, thing);
    const evidence = (await tx.evidence([obligation.id])).has(obligation.id);
    const refuse = (why: string): Error => notAllowed(verb.action, thing, why);
    const step = verb.decide({ ...factsOf(acting, { obligation, detail, tx }), evidence, refuse });
    if (step.to === null) return { changed: false, says: step.says };
    const behind = step.to.state === "owed" ? detail.waitsBehind : null;
    if (!(await move(tx, obligation, step))) throw changed(verb.action, thing);
    if (step.request) await tx.amend(obligation.id, step.request.request, step.request.digest);
    await tx.audit({
      who: acting.who,
      action: verb.action,
      target: auditTarget("obligation", obligation.id),
      why: request.why ?? null,
      before: audited(obligation, step.request && detail.requestDigest),
      // The store keeps what is owed from overtaking what is before it.
      after: audited(behind ? { ...step.to, dueAt: null } : step.to, step.request?.digest),
    });
    signals.owed = true;
    return { changed: true, says: behind ? waitingFor(behind) : step.says };
  });
  if (acted.changed) tell(acting, verb.action, auditTarget("obligation", detail.obligation.id));
  return acted;
}

function factsOf(
  { runtime }: Acting,
  {
    obligation,
    detail,
    tx,
  }: { readonly obligation: Obligation; readonly detail: ObligationDetail; readonly tx: StoreTx },
): Omit<ObligationFacts, "evidence" | "refuse"> {
  return {
    obligation,
    now: tx.now,
    effect: runtime.effects.get(obligation.effect),
    key: keyStanding(obligation, runtime, tx.stamp),
    waitsBehind: detail.waitsBehind,
    running: detail.lease?.live === true,
    request: detail.request,
    answer: detail.answer,
  };
}

async function move(tx: StoreTx, { id, fence }: Obligation, { to, answer }: MovingStep): Promise<boolean> {
  const [moved = false] = await tx.move([
    {
      obligationId: id,
      fence,
      to: progressOf(to),
      attempt: null,
      keepLease: false,
      raiseFence: true,
      ...(answer && { answer }),
    },
  ]);
  return moved;
}

/** Exactly the members of `Progress`, of what may be a whole obligation. */
export function progressOf({
  state,
  reached,
  generation,
  keySince,
  tries,
  lookups,
  crashes,
  lastCallEndedAt,
  dueAt,
  reason,
}: Progress): Progress {
  return { state, reached, generation, keySince, tries, lookups, crashes, lastCallEndedAt, dueAt, reason };
}

/** What moved, for the audit: states and numbers, no payload. */
export function audited({ state, reached, generation, dueAt, reason }: Progress, request?: string | null): string {
  return JSON.stringify({
    state,
    reached,
    generation,
    dueAt: dueAt === null ? null : new Date(dueAt).toISOString(),
    reason,
    request: request ?? undefined,
  });
}

/** Refuses where nothing more is owed. */
export function refuseClosed({ obligation, refuse }: ObligationFacts): void {
  if ((closedStates as readonly string[]).includes(obligation.state)) {
    throw refuse(`it is ${obligation.state}; an intended repeat is a new operation, under another version of its key`);
  }
}

/**
 * Refuses while a lease is held: what it learns decides what fits. A call whose worker died is refused
 * too, until a worker has taken note that it may have reached the provider.
 */
export function refuseRunning({ obligation, running, refuse }: ObligationFacts): void {
  if (running) throw refuse(`its ${runs[obligation.state] ?? "call"} is running now; wait for its end`);
  if (obligation.state === "sending") {
    throw refuse("its worker was lost in mid-call; start a worker, which takes note of that first");
  }
}

function waitingFor({ operationKey, state }: NonNullable<ObligationFacts["waitsBehind"]>): string {
  return `It is owed again and waits behind "${operationKey}" of its order key, which is ${state}`;
}

/** Refuses to send what must not be sent now: it was asked back, or waits for its turn already. */
export function refuseHeldUp({ obligation, waitsBehind, refuse }: ObligationFacts): void {
  if (obligation.cancelRequested) {
    throw refuse("the application asked for it back; cancel it if it did not take effect, or mark it done if it did");
  }
  if (waitsBehind === null || obligation.state !== "owed" || obligation.dueAt !== null) return;
  throw refuse(
    `it waits behind "${waitsBehind.operationKey}" of its order key, which is ${waitsBehind.state}; decide about that one`,
  );
}

const runs: Readonly<Partial<Record<Obligation["state"], string>>> = {
  settling: "settled hook",
  uncertain: "lookup",
  withdrawn: "abandoned hook",
  cancelled: "abandoned hook",
};

/** The effect's definition, or a refusal where this configuration lacks it. */
export function requireEffect({ effect, obligation, refuse }: ObligationFacts): EffectDefinition {
  if (effect === undefined) {
    throw refuse(`effect ${obligation.effect} is not registered in this configuration; add it to effects in defineApp`);
  }
  return effect;
}

/** Whether it is due already, so that asking again changes nothing. */
export function isDue({ obligation, now }: ObligationFacts): boolean {
  return obligation.dueAt !== null && obligation.dueAt <= now;
}
