/**
 * Retention: what is old goes, in batches of a short transaction each, the oldest first. It may be stopped
 * and begun anew at any point. Nothing open is touched, and no key: a late copy is still a duplicate.
 */
import type { Limits } from "../domain/limits.ts";
import { prunableKinds, type PrunableKind, type StoreTx } from "../store/store.ts";
import type { Runtime } from "../work/runtime.ts";
import { transact } from "../work/transact.ts";

/** A batch this small keeps the lock short. */
const batchMax = 500;

/** What is old for a month can wait for an hour. */
const passEveryMs = 3_600_000;

interface BatchOptions {
  /** Count, and remove nothing. */
  readonly dryRun: boolean;
  /** Runs in the transaction of each batch that removed something. */
  readonly removed?: (tx: StoreTx) => Promise<void>;
}

/**
 * Goes once through all that may be old.
 *
 * @yields What each batch removed, or would.
 */
export async function* pruneBatches(
  runtime: Runtime,
  { dryRun, removed }: BatchOptions,
): AsyncGenerator<{ readonly kind: PrunableKind; readonly count: number }, void> {
  for (const kind of prunableKinds) {
    const olderThanMs = ageOf(kind, runtime.limits);
    let after: number | null = 0;
    while (after !== null) {
      const batch = { kind, olderThanMs, after, limit: batchMax, dryRun };
      const { count, next } = await transact(runtime, async (tx) => {
        const pruned = await tx.prune(batch);
        if (pruned.count > 0 && !dryRun) await removed?.(tx);
        return pruned;
      });
      after = next;
      yield { kind, count };
    }
  }
}

/** How old a thing of each kind must be; payloads carry their own time. */
export function ageOf(kind: PrunableKind, { requestsMs, historyMs }: Limits): number {
  switch (kind) {
    case "payloads":
      return 0;
    case "requests":
    case "answers":
      return requestsMs;
    case "attempts":
    case "refusals":
      return historyMs;
    default:
      throw new Error(`Bug: no age of ${String(kind satisfies never)}`);
  }
}

/** What a worker does for retention by itself: once in an hour it goes through all, a batch a time. */
export class Retention {
  readonly #runtime: Runtime;
  #pass: ReturnType<typeof pruneBatches> | undefined;
  #nextAtMs = Number.NEGATIVE_INFINITY;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** Goes on to the next batch that removes something; gives whether there may be more. */
  async run(): Promise<boolean> {
    const { clock } = this.#runtime;
    if (this.#pass === undefined && clock.monotonicMs() < this.#nextAtMs) return false;
    const pass = (this.#pass ??= pruneBatches(this.#runtime, { dryRun: false }));
    try {
      for (let step = await pass.next(); !step.done; step = await pass.next()) if (step.value.count > 0) return true;
    } catch (error) {
      // A pass that failed is over: the next one begins with the oldest again.
      this.#pass = undefined;
      throw error;
    }
    this.#pass = undefined;
    this.#nextAtMs = clock.monotonicMs() + passEveryMs;
    return false;
  }
}
