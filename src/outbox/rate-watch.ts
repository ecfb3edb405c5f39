/**
 * How many calls of an effect may still begin to one destination, by its declared rate: a bucket for each
 * lane, which holds as many as one period allows and fills evenly. Of this process alone.
 */
import type { Clock } from "../domain/clock.ts";
import { durationMs } from "../domain/duration.ts";
import type { EffectDefinition } from "../domain/effect.ts";
import type { Lane } from "../store/store.ts";

interface Bucket {
  readonly tokens: number;
  readonly atMs: number;
}

export class RateWatch {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #effects: ReadonlyMap<string, EffectDefinition>;
  readonly #buckets: Map<string, Bucket> = new Map();

  constructor(clock: Pick<Clock, "monotonicMs">, effects: ReadonlyMap<string, EffectDefinition>) {
    this.#clock = clock;
    this.#effects = effects;
  }

  /** Calls that may begin now. */
  left(lane: Lane): number {
    return Math.floor(this.#tokens(lane));
  }

  /** One call begins. */
  take(lane: Lane): void {
    this.#add(lane, -1);
  }

  /** It did not begin after all. */
  giveBack(lane: Lane): void {
    this.#add(lane, 1);
  }

  #add(lane: Lane, count: number): void {
    const tokens = this.#tokens(lane);
    if (tokens === Number.POSITIVE_INFINITY) return;
    this.#buckets.set(nameOf(lane), { tokens: tokens + count, atMs: this.#clock.monotonicMs() });
  }

  /** How long until another call may begin in one of these lanes that may begin none now; `undefined` where there is none. */
  waitMs(lanes: readonly Lane[]): number | undefined {
    const waits = lanes.flatMap((lane) => {
      const tokens = this.#tokens(lane);
      return tokens >= 1 ? [] : Math.ceil((1 - tokens) / this.#perMs(lane));
    });
    return waits.length === 0 ? undefined : Math.min(...waits);
  }

  #tokens(lane: Lane): number {
    const rate = lane.calls ? this.#effects.get(lane.effect)?.rate : undefined;
    if (rate === undefined) return Number.POSITIVE_INFINITY;
    const bucket = this.#buckets.get(nameOf(lane));
    if (bucket === undefined) return rate.calls;
    return Math.min(rate.calls, bucket.tokens + (this.#clock.monotonicMs() - bucket.atMs) * this.#perMs(lane));
  }

  #perMs({ effect }: Lane): number {
    const rate = this.#effects.get(effect)?.rate;
    return rate === undefined ? Number.POSITIVE_INFINITY : rate.calls / durationMs(rate.per);
  }
}

function nameOf({ effect, destination }: Lane): string {
  return `${effect} ${destination}`;
}
