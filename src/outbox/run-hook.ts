/**
 * Runs a `settled` hook, after the verdict and the answer are committed, or its twin `abandoned`, after it
 * is committed that the operation was given up.
 *
 * Its work, what it owes, and the move to its end commit together under the fence, so that it takes effect
 * once however often it is started. It reads what is stored only and can never cause a send.
 */
import type { Abandoned, Result } from "../domain/effect.ts";
import { errorSummary } from "../domain/error-summary.ts";
import { doubtfulTroubles, hasCode, storeTroubles } from "../domain/errors.ts";
import { isAbandoned, type Obligation, type StoredAnswer } from "../domain/obligation.ts";
import { transact } from "../work/transact.ts";
import { runUnit } from "../work/unit.ts";
import { type Attempting, type Ended, operationOfClaim } from "./attempt.ts";
import { settle } from "./settle.ts";
import { readAnswer } from "./stored-answer.ts";

/** What came of a run. */
export type HookRun =
  | { readonly kind: "done" }
  /** Another holds the obligation now: nothing was kept. */
  | { readonly kind: "refused" }
  /** To be written: the hook failed, or the answer does not fit. */
  | { readonly kind: "failed"; readonly ended: Ended }
  /** The store could not take it, which is not the hook's fault; `again` unless it may have committed. */
  | { readonly kind: "trouble"; readonly again: boolean };

export const hookDone: Ended = {
  learned: { kind: "hooked" },
  end: { verdict: "done", phase: null, status: null, cause: null, answer: null },
};

/** Runs the hook of a claim that is settling. Never rejects. */
export async function runHook(
  attempting: Pick<Attempting, "claim" | "definition" | "runtime">,
  obligation: Obligation,
  answer: StoredAnswer | null,
): Promise<HookRun> {
  const abandoned = isAbandoned(obligation.state);
  const read = abandoned ? undefined : readAnswer(attempting.definition, answer);
  if (read?.fits === false) return { kind: "failed", ended: unfit(read.problem) };
  const failed = (summary: string): Ended => failedHook(abandoned ? "abandoned" : "settled", summary);
  try {
    return await commitHook(attempting, obligation, read?.result);
  } catch (error) {
    // Full or damaged may be this hook's own table: it spends a try, and a store that is ill keeps that from being written.
    if (hasCode(error, ...doubtfulTroubles)) return { kind: "failed", ended: failed(errorSummary(error)) };
    if (hasCode(error, ...storeTroubles)) return { kind: "trouble", again: !hasCode(error, "COMMIT_UNKNOWN") };
    return { kind: "failed", ended: failed(errorSummary(error)) };
  }
}

function commitHook(
  { claim, definition, runtime }: Pick<Attempting, "claim" | "definition" | "runtime">,
  obligation: Obligation,
  result: Result<unknown> | undefined,
): Promise<HookRun> {
  const { tenant, connection, account, receiptId } = obligation;
  const scope = { tenant, connection, account, receiptId };
  return transact(runtime, async (tx, signals) => {
    // Renewing asks for the fence and the lease, and keeps both ours until this transaction ends.
    const [ours] = await tx.renew([{ obligationId: obligation.id, fence: claim.fence }], runtime.limits.leaseMs);
    if (!ours) return { kind: "refused" };
    await runUnit(tx, { scope, runtime, signals }, async (work) => {
      const operation = operationOfClaim(claim, definition);
      const { tx: userTx, owe, withdraw, arrived } = work;
      const context = { tx: userTx, owe, withdraw, arrived, operation };
      if (result !== undefined) await definition.settled?.({ ...context, result });
      else await definition.abandoned?.({ ...context, abandoned: abandonedOf(obligation) });
    });
    await settle(tx, [{ claim, definition, obligation, ended: hookDone }], runtime);
    return { kind: "done" };
  });
}

function abandonedOf({ state, reached, reason }: Obligation): Abandoned {
  return { by: state === "cancelled" ? "cancelled" : "withdrawn", reached, reason };
}

function failedHook(hook: "settled" | "abandoned", summary: string): Ended {
  return hookEnd({ kind: "hook_failed", reason: `the ${hook} hook failed with ${summary}` }, summary);
}

function unfit(problem: string): Ended {
  return hookEnd({ kind: "exists", by: "evidence", unfit: problem }, "unfit");
}

function hookEnd(learned: Ended["learned"], cause: string): Ended {
  return { learned, end: { verdict: "hook_failed", phase: null, status: null, cause, answer: null } };
}
