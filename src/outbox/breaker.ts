/**
 * A breaker for each destination, of this process alone: other processes find out for themselves.
 *
 *   closed --[breakerFailures calls in a row without an answer, or with 5xx]--> open
 *   open   --[its time is over]--> one call at a time
 *   one call --[answered]--> closed;  --[failed]--> open, twice as long, up to breakerMaxMs
 *
 * It spares the provider and our own budgets of tries; what is due stays due. A 429 is the provider's own
 * word for how long to wait and is heeded as such, not counted here.
 */
import type { Clock } from "../domain/clock.ts";
import type { Limits } from "../domain/limits.ts";
import type { Emit } from "../domain/telemetry.ts";
import type { Ended } from "./attempt.ts";

interface Trouble {
  /** Failed calls in a row. */
  readonly failures: number;
  /** For how long it was opened last, and until when; 0 while it is closed. */
  readonly openMs: number;
  readonly untilMs: number;
}

export interface BreakerOptions {
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly limits: Pick<Limits, "breakerFailures" | "breakerFirstMs" | "breakerMaxMs">;
  readonly emit: Emit;
}

export class Breaker {
  readonly #options: BreakerOptions;
  readonly #troubles: Map<string, Trouble> = new Map();

  constructor(options: BreakerOptions) {
    this.#options = options;
  }

  /** How many calls may be in flight to a destination now. */
  callsMax(destination: string): number {
    const { openMs, untilMs } = this.#troubles.get(destination) ?? closed;
    if (openMs === 0) return Number.POSITIVE_INFINITY;
    return this.#options.clock.monotonicMs() < untilMs ? 0 : 1;
  }

  /** Takes note of how a call ended, where that says something of its destination. */
  heard(destination: string, ended: Ended): void {
    const health = healthBy(ended);
    const trouble = this.#troubles.get(destination) ?? closed;
    if (health === "well") {
      this.#troubles.delete(destination);
      if (trouble.openMs > 0) this.#options.emit({ kind: "breaker.closed", destination });
    } else if (health === "ill") {
      this.#failed(destination, { ...trouble, failures: trouble.failures + 1 });
    }
  }

  #failed(destination: string, trouble: Trouble): void {
    const { clock, limits, emit } = this.#options;
    const nowMs = clock.monotonicMs();
    // Calls that were under way when it opened say nothing new.
    const opens = trouble.failures >= limits.breakerFailures && trouble.untilMs <= nowMs;
    if (!opens) return void this.#troubles.set(destination, trouble);
    const openMs = Math.min(limits.breakerMaxMs, trouble.openMs === 0 ? limits.breakerFirstMs : 2 * trouble.openMs);
    this.#troubles.set(destination, { ...trouble, openMs, untilMs: nowMs + openMs });
    emit({ kind: "breaker.opened", destination, forMs: openMs });
  }
}

const closed: Trouble = { failures: 0, openMs: 0, untilMs: 0 };

/** What the end of a call says of its destination; nothing where no call came to it, or it asks for patience. */
function healthBy({ learned, end }: Ended): "well" | "ill" | undefined {
  if (learned.kind === "exists") return learned.by === "evidence" ? undefined : "well";
  if (learned.kind === "absent") return "well";
  if (learned.kind !== "sent" && learned.kind !== "lookup_unknown") return undefined;
  if (end.status !== null) return end.status === 429 ? undefined : end.status >= 500 ? "ill" : "well";
  // Where nothing went out for a reason of ours, nothing is known of the destination.
  const ours = (end.phase === null && end.cause !== "unsent") || end.cause === "blocked" || end.cause === "unsendable";
  return ours ? undefined : "ill";
}
