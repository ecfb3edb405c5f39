/**
 * An effect that happened more than once at the provider that knows no keys: was it ours, or the provider's?
 *
 * Such a provider gives its word that a lookup sees every request that ended a settle delay ago. Ours is the
 * double unless the books of both sides prove that this word was broken: before each further call a lookup was
 * begun that late, it said absent, and what the calls before had asked for happened only after that.
 */
import type { Duration } from "counterfoil";

/** What the courier promises; it stands in the soak's own process, and so may come late by itself. */
export const settleDelay: Duration = (process.env["SOAK_SETTLE_DELAY"] ?? "4s") as Duration;

/** An attempt as the database has it, in the order of their fences. */
export interface AttemptRow {
  readonly kind: string;
  readonly verdict: string;
  readonly startedAt: number;
  readonly endedAt: number | null;
}

/** A request as the provider came to it. */
export interface Asked {
  readonly method: string;
  readonly atMs: number;
  readonly tookEffect: boolean;
}

export interface Double {
  readonly attempts: readonly AttemptRow[];
  readonly asked: readonly Asked[];
  readonly settleDelayMs: number;
}

/** Whether the provider had a request for longer than it promised, and its lookup did not know. */
export function isProvidersBreach({ attempts, asked, settleDelayMs }: Double): boolean {
  const firstEffectMs = Math.min(...asked.filter(({ tookEffect }) => tookEffect).map(({ atMs }) => atMs));
  const calls = attempts.flatMap(({ kind, verdict }, index) =>
    kind === "send" && verdict !== "not_sent" && verdict !== "released" ? [index] : [],
  );
  const isExcused = (index: number, before: number): boolean => {
    const endedAt = attempts[before]?.endedAt ?? Number.POSITIVE_INFINITY;
    return attempts
      .slice(before + 1, index)
      .some(
        ({ kind, verdict, startedAt }) =>
          kind === "lookup" &&
          verdict === "absent" &&
          startedAt >= endedAt + settleDelayMs &&
          startedAt <= firstEffectMs,
      );
  };
  return calls.length > 1 && calls.slice(1).every((index, nth) => isExcused(index, calls[nth] ?? index));
}
