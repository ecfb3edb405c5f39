/**
 * Which lanes this process may claim from now: effects it has registered, at destinations that have not
 * just asked to be left alone. The second is per process and only spares the provider, so that lanes that
 * do not call are not asked; each obligation keeps its own due time.
 */
import type { Lane } from "../store/store.ts";
import type { Runtime } from "../work/runtime.ts";

export class LaneWatch {
  readonly #runtime: Runtime;
  readonly #quietUntilMs: Map<string, number> = new Map();
  /** When an effect that is not registered here was first seen due, or last told of. */
  readonly #strangers: Map<string, number> = new Map();

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** A destination asked to be left alone. */
  quiet(destination: string, forMs: number): void {
    const { clock, limits } = this.#runtime;
    this.#quietUntilMs.set(destination, clock.monotonicMs() + Math.min(forMs, limits.retryAfterMaxMs));
  }

  /** Those of the due lanes that may be claimed from. */
  claimable(due: readonly Lane[]): readonly Lane[] {
    const nowMs = this.#runtime.clock.monotonicMs();
    for (const [destination, untilMs] of this.#quietUntilMs) {
      if (untilMs <= nowMs) this.#quietUntilMs.delete(destination);
    }
    return due.filter(
      ({ effect, destination, calls }) =>
        this.#runtime.effects.has(effect) && !(calls && this.#quietUntilMs.has(destination)),
    );
  }

  /**
   * Raises an alarm for effects that were due for a lease's time while this worker looked on. Another
   * worker may have them: then their lanes are empty in between, or the alarm says that it is too slow.
   */
  alarm(due: readonly Lane[]): void {
    const { clock, emit, effects, limits } = this.#runtime;
    const strangers = Map.groupBy(
      due.filter(({ effect }) => !effects.has(effect)),
      ({ effect }) => effect,
    );
    for (const effect of this.#strangers.keys()) if (!strangers.has(effect)) this.#strangers.delete(effect);
    for (const [effect, lanes] of strangers) {
      const sinceMs = this.#strangers.get(effect);
      if (sinceMs !== undefined && clock.monotonicMs() - sinceMs < limits.leaseMs) continue;
      if (sinceMs !== undefined) emit({ kind: "effect.unclaimed", effect, count: lanes.length });
      this.#strangers.set(effect, clock.monotonicMs());
    }
  }
}
