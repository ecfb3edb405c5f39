/**
 * Writes what attempts learned, a batch in one transaction.
 *
 * An earlier attempt may have been answered after its lease was lost. That evidence is read in the same
 * transaction, before anything but success is written: it is then settled as done, whatever this attempt
 * learned. A stale fence changes no obligation; what was learned stays on its attempt.
 */
import type { EffectDefinition } from "../domain/effect.ts";
import { type AttemptEnd, isHook, type Obligation, runsHook, type StoredAnswer } from "../domain/obligation.ts";
import type { Claim, Move, StoreTx } from "../store/store.ts";
import type { Runtime } from "../work/runtime.ts";
import type { Ended } from "./attempt.ts";
import { decide, type Learned, type Situation, type Step } from "./decide.ts";
import { policyOf } from "./effect-policy.ts";
import { unfitness } from "./stored-answer.ts";

/** An attempt whose end is to be written. */
export interface Settling {
  readonly claim: Claim;
  readonly definition: EffectDefinition;
  /** The obligation as its last step left it. */
  readonly obligation: Obligation;
  readonly ended: Ended;
}

/** What was written. */
export interface Settled {
  readonly step: Step;
  /** False where the fence was stale. */
  readonly moved: boolean;
  /** An earlier attempt's late answer decided. */
  readonly byEvidence: boolean;
  /** The answer that a hook is to read. */
  readonly answer: StoredAnswer | null;
}

/** Decides and writes; the results are in the order of the batch. */
export async function settle(tx: StoreTx, batch: readonly Settling[], runtime: Runtime): Promise<readonly Settled[]> {
  const open = batch.filter(({ ended }) => asksForEvidence(ended.learned)).map(({ obligation }) => obligation.id);
  const evidence = open.length > 0 ? await tx.evidence(open) : new Map<number, StoredAnswer>();
  // What is asked back right after this is met by the next claim.
  const askedBack = open.length > 0 ? await tx.cancelRequested(open) : new Set<number>();
  const planned = batch.map((settling) => {
    const { id } = settling.obligation;
    return plan(heeding(settling, askedBack), evidence.get(id), { tx, runtime });
  });
  const moved = await tx.move(planned.map(({ move }) => move));
  for (const [index, { step }] of planned.entries()) {
    if (step.pause !== undefined && moved[index]) {
      await tx.pauseDestination(batch[index]?.obligation.destination ?? "", step.pause);
    }
  }
  return planned.map(({ step, byEvidence, answer }, index) => ({
    step,
    byEvidence,
    answer,
    moved: moved[index] ?? false,
  }));
}

function heeding(settling: Settling, askedBack: ReadonlySet<number>): Settling {
  const { obligation } = settling;
  return askedBack.has(obligation.id)
    ? { ...settling, obligation: { ...obligation, cancelRequested: true } }
    : settling;
}

function asksForEvidence({ kind }: Learned): boolean {
  return kind !== "exists" && kind !== "hooked" && kind !== "hook_failed";
}

interface Planned extends Omit<Settled, "moved"> {
  readonly move: Move;
}

function plan(
  settling: Settling,
  late: StoredAnswer | undefined,
  { tx, runtime }: { readonly tx: StoreTx; readonly runtime: Runtime },
): Planned {
  const { claim, definition, obligation, ended } = settling;
  const byEvidence = late !== undefined && !runsHook(obligation.state) && asksForEvidence(ended.learned);
  const learned: Learned = byEvidence
    ? { kind: "exists", by: "evidence", unfit: unfitness(definition, late) }
    : ended.learned;
  const step = decide(situationOf(settling, tx, runtime), learned);
  const move: Move = {
    obligationId: obligation.id,
    fence: claim.fence,
    to: step.to,
    attempt: attemptEnd(settling),
    keepLease: step.keepLease,
    raiseFence: false,
    ...(ended.answer && { answer: ended.answer }),
  };
  const told = ended.end.verdict === "done" ? ended.end.answer : null;
  return { step, byEvidence, answer: late ?? ended.answer ?? told ?? claim.answer, move };
}

/** A hook under the lease of a send or a lookup has no attempt of its own: that one has ended. */
function attemptEnd({ claim, ended }: Settling): AttemptEnd | null {
  const ofHook = ended.learned.kind === "hooked" || ended.learned.kind === "hook_failed";
  return ofHook && !isHook(claim.kind) ? null : ended.end;
}

/** What a decision of the lease's holder stands on. */
export function situationOf(
  { claim, definition, obligation }: Omit<Settling, "ended">,
  { stamp }: Pick<StoreTx, "stamp">,
  { limits, random }: Pick<Runtime, "limits" | "random">,
): Situation {
  const policy = policyOf(definition, limits);
  return { obligation, policy, limits, random, claimedAt: claim.claimedAt, stamp, holder: true };
}
