/**
 * What a worker does once in a lease's time: says that it is here, and which effects it takes, so that
 * work which nobody takes can be told from work that waits; brings back due times which a wall clock
 * that was ahead for a while put out of everybody's reach; and frees what waits behind nothing any more.
 */
import { policyOf } from "../outbox/effect-policy.ts";
import type { DueBounds } from "../store/store.ts";
import type { Runtime } from "../work/runtime.ts";
import { transact } from "../work/transact.ts";

/** A worker that nobody has seen for a day is forgotten. */
const forgetMs = 86_400_000;

/** The longest that a parked event's delay grows to, to which chance adds a quarter. */
const parkedMaxMs = 3_600_000;

/** Order keys that are looked at in one run. */
const orderKeysMax = 500;

export class Upkeep {
  readonly #runtime: Runtime;
  readonly #worker: string;
  #left = false;
  #nextAtMs = Number.NEGATIVE_INFINITY;
  /** The order key that the next walk goes on behind. */
  #orders = "";

  constructor(runtime: Runtime, worker: string) {
    this.#runtime = runtime;
    this.#worker = worker;
  }

  /** Tells that the worker is here again from now on. */
  arrive(): void {
    this.#left = false;
    this.#nextAtMs = Number.NEGATIVE_INFINITY;
  }

  /** Tells that the worker ended in order, so that nobody waits for it. */
  async leave(): Promise<void> {
    this.#left = true;
    await this.#tellLeft();
  }

  /** Does it when its time has come; asked more often, so that its loop is seen to be alive. */
  async run(): Promise<boolean> {
    const { clock, limits, effects } = this.#runtime;
    if (clock.monotonicMs() < this.#nextAtMs) return false;
    await transact(this.#runtime, async (tx) => {
      await tx.seeWorker({ name: this.#worker, effects: [...effects.keys()], forgetMs });
      await tx.clampDue(dueBounds(this.#runtime));
      this.#orders = (await tx.freeOrders(this.#orders, orderKeysMax)).next ?? "";
    });
    this.#nextAtMs = clock.monotonicMs() + limits.leaseMs;
    // A run that outlived the worker's patience with it has just said the opposite.
    if (this.#left) await this.#tellLeft();
    return false;
  }

  async #tellLeft(): Promise<void> {
    await transact(this.#runtime, async (tx) => {
      if (this.#left) await tx.leaveWorker(this.#worker);
    });
  }
}

/** The longest delays that the schedules of the two halves can have meant. */
export function dueBounds({ effects, limits }: Pick<Runtime, "effects" | "limits">): DueBounds {
  const { heldMaxMs, leaseMs, parkedRetryMs, parkedDeadlineMs, retryMaxMs, retryAfterMaxMs } = limits;
  return {
    receiptsMs: Math.max(heldMaxMs, leaseMs, Math.ceil(1.25 * Math.max(parkedRetryMs, parkedMaxMs))),
    deadlinesMs: parkedDeadlineMs,
    refreshesMs: Math.max(leaseMs, retryMaxMs, retryAfterMaxMs),
    obligations: [...effects].map(([effect, definition]) => {
      const settleDelayMs = policyOf(definition, limits).lookup?.settleDelayMs ?? 0;
      return { effect, withinMs: Math.max(retryMaxMs, retryAfterMaxMs, settleDelayMs) };
    }),
  };
}
