import { durationMs } from "../domain/duration.ts";
import type { EffectDefinition } from "../domain/effect.ts";
import type { KeyTerms } from "../domain/key-life.ts";
import type { Limits } from "../domain/limits.ts";
import { keyLifetimeMs } from "../work/owe.ts";

/** What of an effect's declaration decides about its obligations. */
export interface EffectPolicy {
  /** `null` where the provider keeps no contract. */
  readonly key: KeyTerms | null;
  /** `null` where nobody but an operator can tell what happened. */
  readonly lookup: { readonly settleDelayMs: number } | null;
  /** Whether a `settled` hook has to run. */
  readonly hook: boolean;
  /** Whether an `abandoned` hook has to run. */
  readonly abandoned: boolean;
  readonly attemptsMax: number;
}

const policies = new WeakMap<EffectDefinition, { readonly limits: Limits; readonly policy: EffectPolicy }>();

/** Reads the policy of an effect; read once, since it is asked for at each step. */
export function policyOf(definition: EffectDefinition, limits: Limits): EffectPolicy {
  const known = policies.get(definition);
  if (known?.limits === limits) return known.policy;
  const policy = readPolicy(definition, limits);
  policies.set(definition, { limits, policy });
  return policy;
}

function readPolicy(definition: EffectDefinition, limits: Limits): EffectPolicy {
  const lifetimeMs = keyLifetimeMs(definition);
  const { lookup } = definition;
  // A call that may last longer than usual needs the margin that such a call needs.
  const marginMs = Math.max(limits.keyMarginMs, callMsOf(definition, limits) + limits.leaseMarginMs);
  return {
    key: lifetimeMs === null ? null : { lifetimeMs, marginMs },
    lookup: lookup
      ? { settleDelayMs: lookup.settleDelay ? durationMs(lookup.settleDelay) : limits.settleDelayMs }
      : null,
    hook: definition.settled !== undefined,
    abandoned: definition.abandoned !== undefined,
    attemptsMax: definition.attemptsMax ?? limits.attemptsMax,
  };
}

/** The longest time of one call. */
export function callMsOf({ timeout }: EffectDefinition, limits: Limits): number {
  return timeout === undefined ? limits.callMs : durationMs(timeout);
}

/**
 * The policy for an effect that this process has not registered. It keeps everything open, so that an
 * obligation whose holder died comes back to a worker that knows the effect and decides then.
 */
export const unknownPolicy: EffectPolicy = {
  key: { lifetimeMs: Number.POSITIVE_INFINITY, marginMs: 0 },
  lookup: { settleDelayMs: 0 },
  hook: true,
  abandoned: true,
  attemptsMax: Number.POSITIVE_INFINITY,
};
