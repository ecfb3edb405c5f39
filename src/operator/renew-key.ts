import type { Progress } from "../domain/obligation.ts";
import {
  isDue,
  type ObligationFacts,
  type ObligationVerb,
  refuseClosed,
  refuseHeldUp,
  refuseRunning,
  renewed,
  requireEffect,
  type Step,
} from "./act-on-obligation.ts";

/**
 * Sends again under a new key. Where an earlier call may have taken effect this can be a second one, so it
 * needs the operator's own word that it did not; a lookup that says absent sends again by itself.
 */
export function renewKey(options: { readonly confirm: boolean }): ObligationVerb {
  return {
    action: options.confirm ? "renew-key (confirmed)" : "renew-key",
    decide: (facts) => decide(facts, options.confirm),
  };
}

function decide(facts: ObligationFacts, confirm: boolean): Step {
  const { obligation, now, evidence, refuse } = facts;
  refuseClosed(facts);
  refuseRunning(facts);
  if (obligation.state === "settling" || evidence) {
    throw refuse("it took effect already; retry settles it from the stored answer");
  }
  requireEffect(facts);
  refuseHeldUp(facts);
  if (obligation.state === "owed" && obligation.generation > 1 && obligation.keySince === null && isDue(facts)) {
    return { to: null, says: `Its key was renewed already (generation ${obligation.generation}) and is not used yet` };
  }
  if (obligation.reached !== "no" && obligation.keySince !== null && !confirm) {
    throw refuse("an earlier call may have taken effect; look it up, or confirm that you know it did not");
  }
  const generation = obligation.generation + 1;
  const to: Progress = {
    ...obligation,
    ...renewed,
    state: "owed",
    dueAt: now,
    generation,
    keySince: null,
    reason: null,
  };
  return { to, says: `It is due now under a new key (generation ${generation})` };
}
