import { isHook } from "../domain/obligation.ts";
import type { Emit } from "../domain/telemetry.ts";
import type { Settled, Settling } from "./settle.ts";

/** Tells subscribers how an attempt ended, once that is committed. */
export function tell(
  emit: Emit,
  { claim, obligation, ended }: Settling,
  { step, moved, byEvidence }: Omit<Settled, "answer">,
): void {
  const { id: obligationId, effect, destination } = obligation;
  const { fence } = claim;
  const name = { obligationId, effect, fence };
  const hook = ended.learned.kind === "hooked" || ended.learned.kind === "hook_failed";
  const { verdict, status, cause } = ended.end;
  if (!moved) return emit({ kind: "fence.refused", ...name });
  emit({
    kind: "attempt.ended",
    ...name,
    attempt: hook && !isHook(claim.kind) ? "settle" : claim.kind,
    verdict,
    state: step.to.state,
    status,
    cause,
  });
  const late = byEvidence || (ended.learned.kind === "exists" && ended.learned.by === "evidence");
  if (late) emit({ kind: "evidence.used", ...name });
  if (step.keyExpired) emit({ kind: "key.expired", obligationId, effect });
  if (step.pause !== undefined) emit({ kind: "destination.paused", destination, reason: step.pause });
}
