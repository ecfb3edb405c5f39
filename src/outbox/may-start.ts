import { keyLifeMs } from "../domain/key-life.ts";
import type { Attempting } from "./attempt.ts";
import { policyOf } from "./effect-policy.ts";

/** The last look before the first byte. */
export function mayStart({ claim, definition, lease, runtime }: Attempting): () => boolean {
  const { key } = policyOf(definition, runtime.limits);
  const { keySince } = claim.obligation;
  const keyLeftMs = key === null ? Number.POSITIVE_INFINITY : keyLifeMs({ ...key, since: keySince }, claim.claimedAt);
  return () => lease.live && lease.elapsedMs() < keyLeftMs;
}
