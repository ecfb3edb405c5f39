import type { Stamp } from "../domain/instant.ts";
import { keyLifeMs } from "../domain/key-life.ts";
import type { Obligation } from "../domain/obligation.ts";
import { policyOf } from "../outbox/effect-policy.ts";
import type { Runtime } from "../work/runtime.ts";

/** How an obligation's idempotency key stands. */
export type KeyStanding =
  /** The same request can be sent again under it. `remainingMs` counts from the first call that may have arrived. */
  | { readonly kind: "good"; readonly remainingMs: number }
  /** The provider may have forgotten it: a repeat could be a second effect. */
  | { readonly kind: "expired" }
  /** The provider keeps no keys. */
  | { readonly kind: "none" }
  /** The effect is not registered here, so nothing is known of its key. */
  | { readonly kind: "unknown" };

/** Reads how the key stands at an instant. */
export function keyStanding(
  { keySince, effect }: Pick<Obligation, "keySince" | "effect">,
  { effects, limits }: Pick<Runtime, "effects" | "limits">,
  now: Stamp,
): KeyStanding {
  const definition = effects.get(effect);
  if (definition === undefined) return { kind: "unknown" };
  const { key } = policyOf(definition, limits);
  if (key === null) return { kind: "none" };
  const remainingMs = keyLifeMs({ ...key, since: keySince }, now);
  return remainingMs > 0 ? { kind: "good", remainingMs } : { kind: "expired" };
}
