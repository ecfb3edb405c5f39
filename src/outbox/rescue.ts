/**
 * Takes up obligations whose lease ran out. Their attempt started and nobody wrote its end, so its
 * outcome is unknown, unless the lost worker's answer came in after all.
 */
import { type Obligation, runsHook, type StoredAnswer } from "../domain/obligation.ts";
import type { ExpiredLease, Move, StoreTx } from "../store/store.ts";
import type { Runtime } from "../work/runtime.ts";
import { transact } from "../work/transact.ts";
import { decide, type Learned } from "./decide.ts";
import { policyOf, unknownPolicy } from "./effect-policy.ts";
import { unfitness } from "./stored-answer.ts";

/** Rescues one batch; gives whether there may be more. */
export async function rescue(runtime: Runtime): Promise<boolean> {
  const { limits, emit } = runtime;
  const rescued = await transact(runtime, async (tx) => {
    const expired = await tx.expiredLeases(limits.claimMax);
    if (expired.length === 0) return [];
    const evidence = await tx.evidence(expired.map(({ obligation }) => obligation.id));
    await tx.move(expired.map((lease) => moveOf(lease, evidence.get(lease.obligation.id), { tx, runtime })));
    return expired.map(({ obligation }) => ({ obligation, byEvidence: usesEvidence(obligation, evidence) }));
  });
  for (const { obligation, byEvidence } of rescued) {
    const { id: obligationId, effect, fence } = obligation;
    emit({ kind: "lease.expired", obligationId, effect, fence });
    if (byEvidence) emit({ kind: "evidence.used", obligationId, effect, fence });
  }
  return rescued.length >= limits.claimMax;
}

function usesEvidence({ id, state }: Obligation, evidence: ReadonlyMap<number, StoredAnswer>): boolean {
  return !runsHook(state) && evidence.has(id);
}

function moveOf(
  { obligation, claimedAt }: ExpiredLease,
  late: StoredAnswer | undefined,
  { tx, runtime }: { readonly tx: StoreTx; readonly runtime: Runtime },
): Move {
  const { effects, limits, random } = runtime;
  const definition = effects.get(obligation.effect);
  const policy = definition ? policyOf(definition, limits) : unknownPolicy;
  const learned: Learned =
    late === undefined || runsHook(obligation.state)
      ? { kind: "crashed" }
      : { kind: "exists", by: "evidence", unfit: definition ? unfitness(definition, late) : null };
  const situation = { obligation, policy, limits, random, claimedAt, stamp: tx.stamp, holder: false };
  return {
    obligationId: obligation.id,
    fence: obligation.fence,
    to: decide(situation, learned).to,
    // What is presumed of a lost attempt; its own late word replaces it.
    attempt: { verdict: "crashed", phase: null, status: null, cause: null, answer: null },
    keepLease: false,
    raiseFence: true,
  };
}
