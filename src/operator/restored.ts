/**
 * What follows from a database that was put back to an earlier state: nobody knows any more what was
 * sent since. Each obligation of that state that was not done may have reached its provider, under a key
 * that may be too old: from then on only a lookup or an operator decides.
 *
 * What took effect for certain (`settling`) is settled as ever, since the hook's work was put back with
 * the rest. What was owed after the restore is known as well as ever. It goes in transactions of one page
 * each, may be stopped and begun anew, and leaves alone what it has marked before.
 */
import type { Instant, Stamp } from "../domain/instant.ts";
import { deadSince } from "../domain/key-life.ts";
import { furthest, type Obligation, type ObligationState, type Progress } from "../domain/obligation.ts";
import { policyOf } from "../outbox/effect-policy.ts";
import { auditTarget } from "../store/audit-target.ts";
import type { StoreTx } from "../store/store.ts";
import type { Runtime } from "../work/runtime.ts";
import { transact } from "../work/transact.ts";
import { audited, progressOf } from "./act-on-obligation.ts";
import { type Acting, tell } from "./acting.ts";
import { isRunning } from "./operator-reads.ts";
import { notAllowed } from "./refusal.ts";

/** When the state that was put back was saved, and why it was put back. */
export interface RestoredAction {
  /** What happened after this instant is lost. Rather too late than too early. */
  readonly since: Instant;
  /** Count, and change nothing. */
  readonly dryRun?: boolean | undefined;
  /** Why, for the audit. */
  readonly why?: string | undefined;
}

/** How many obligations may have got further than the database knows. */
export interface Restored {
  readonly obligations: number;
}

const doubtful: readonly ObligationState[] = ["owed", "sending", "uncertain", "stuck"];
const pageRows = 200;

/** Marks all that may have been sent since, or counts it; rejects with NOT_ALLOWED while a worker is seen at work. */
export async function restored(acting: Acting, { since, dryRun = false, why }: RestoredAction): Promise<Restored> {
  const { runtime } = acting;
  const now = await refuseEarly(runtime, { since, dryRun });
  let obligations = 0;
  for (const state of doubtful) {
    let before: number | undefined;
    for (;;) {
      const page = await runtime.store.reader.obligations({ state }, { limit: pageRows, before });
      const found = page.filter((one) => one.createdAt <= since && !isMarked(one) && !isEarly(one, now));
      obligations += dryRun ? found.length : await mark(acting, found, { since, why });
      before = page.at(-1)?.id;
      if (page.length < pageRows) break;
    }
  }
  return { obligations };
}

/** A worker that runs would send, meanwhile, what is about to be marked. Gives the time it is now. */
async function refuseEarly(
  { store, limits }: Runtime,
  { since, dryRun }: { readonly since: Instant; readonly dryRun: boolean },
): Promise<Instant> {
  const { now, workers } = await store.reader.counts();
  if (!(since <= now)) {
    throw new RangeError("Cannot mark what was restored: since lies in the future; give the time of the backup");
  }
  const running = workers.find((worker) => worker.seenAt > since && isRunning(worker, { now, limits }));
  if (running === undefined || dryRun) return now;
  const why = `worker ${running.name} is at work on it; stop all workers, and start them when this is done; one that was killed counts for ${(2 * limits.leaseMs) / 1_000} s`;
  throw notAllowed("mark as restored", "the store", why);
}

function isMarked({ state, keySince }: Obligation): boolean {
  return keySince?.wallMs === deadSince.wallMs && (state === "uncertain" || state === "stuck");
}

/** What must not be sent yet was not sent in the time that is lost either. */
function isEarly({ state, reached, keySince, notBefore }: Obligation, now: Instant): boolean {
  return state === "owed" && reached === "no" && keySince === null && notBefore !== null && notBefore > now;
}

async function mark(
  acting: Acting,
  found: readonly Obligation[],
  { since, why = null }: { readonly since: Instant; readonly why: string | null | undefined },
): Promise<number> {
  if (found.length === 0) return 0;
  const { runtime, who } = acting;
  const marked = await transact(runtime, async (tx, signals) => {
    const ids: number[] = [];
    for (const { tenant, operationKey } of found) {
      const before = await tx.lockObligation(tenant, operationKey);
      if (before === undefined || !doubtful.includes(before.state) || isMarked(before)) continue;
      const after = doubted(before, { since, stamp: tx.stamp, runtime });
      await move(tx, before, after);
      const target = auditTarget("obligation", before.id);
      await tx.audit({ who, action: "restored", target, why, before: audited(before), after: audited(after) });
      ids.push(before.id);
    }
    signals.owed = true;
    return ids;
  });
  for (const id of marked) tell(acting, "restored", auditTarget("obligation", id));
  return marked.length;
}

/** What is known of an obligation whose later history is lost. A call of that history may still be running. */
function doubted(
  obligation: Obligation,
  { since, stamp, runtime }: { readonly since: Instant; readonly stamp: Stamp; readonly runtime: Runtime },
): Progress {
  const definition = runtime.effects.get(obligation.effect);
  const lookup = definition && policyOf(definition, runtime.limits).lookup;
  const stays = obligation.state === "stuck";
  return progressOf({
    ...obligation,
    state: stays ? "stuck" : "uncertain",
    reached: furthest(obligation.reached, "maybe"),
    keySince: deadSince,
    lookups: 0,
    crashes: 0,
    lastCallEndedAt: stamp,
    dueAt: stays || !lookup ? null : stamp.wallMs + lookup.settleDelayMs,
    reason: `restored to ${new Date(since).toISOString()}: it may have been sent since`,
  });
}

async function move(tx: StoreTx, { id, fence }: Obligation, to: Progress): Promise<void> {
  const attempt = { verdict: "crashed", phase: null, status: null, cause: "restored", answer: null } as const;
  await tx.move([{ obligationId: id, fence, to, attempt, keepLease: false, raiseFence: true }]);
}
