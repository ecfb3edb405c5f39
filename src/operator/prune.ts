import { prunableKinds, type PrunableKind, type StoreTx } from "../store/store.ts";
import { transact } from "../work/transact.ts";
import { type Acting, tell } from "./acting.ts";
import { ageOf, pruneBatches } from "./retention.ts";

/** Whether to remove what is old or only to count it, and why. */
export interface PruneAction {
  /** Count, and remove nothing. */
  readonly dryRun?: boolean | undefined;
  /** Why, for the audit. */
  readonly why?: string | undefined;
}

/** How many lost what each kind names, or would: events, obligations, refused deliveries. */
export type PruneCounts = Readonly<Record<PrunableKind, number>>;

const target = "retention";

/**
 * Removes all that is old, or counts it. The audit has a row of the first transaction that removed
 * something, with the rules, and one of the end, with the counts.
 */
export async function prune(acting: Acting, { dryRun = false, why }: PruneAction): Promise<PruneCounts> {
  const { runtime, who } = acting;
  const counts = { payloads: 0, requests: 0, answers: 0, attempts: 0, refusals: 0 };
  let begun = false;
  const note = (tx: StoreTx, after: object): Promise<void> =>
    tx.audit({ who, action: "prune", target, why: why ?? null, before: null, after: JSON.stringify(after) });
  const rules = Object.fromEntries(prunableKinds.map((kind) => [kind, ageOf(kind, runtime.limits)]));
  const removed = async (tx: StoreTx): Promise<void> => {
    if (!begun) await note(tx, { olderThanMs: rules });
  };
  for await (const { kind, count } of pruneBatches(runtime, { dryRun, removed })) {
    counts[kind] += count;
    begun ||= count > 0;
  }
  if (dryRun || !begun) return counts;
  await transact(runtime, (tx) => note(tx, { removed: counts }));
  tell(acting, "prune", target);
  return counts;
}
