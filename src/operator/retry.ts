import { isAbandoned, type Progress } from "../domain/obligation.ts";
import {
  isDue,
  type ObligationFacts,
  type ObligationVerb,
  refuseClosed,
  refuseHeldUp,
  refuseRunning,
  renewed,
  type Step,
} from "./act-on-obligation.ts";

/** Makes a waiting or stuck obligation due now with new budgets, where a repeat cannot be a second effect. */
export const retry: ObligationVerb = { action: "retry", decide };

function decide(facts: ObligationFacts): Step {
  const { obligation, now } = facts;
  if (isAbandoned(obligation.state) && obligation.tries > 0) return runAbandoned(facts);
  refuseClosed(facts);
  refuseRunning(facts);
  if (obligation.state === "settling") {
    if (isDue(facts)) return { to: null, says: "It is due already: the settled hook runs next" };
    const to: Progress = { ...obligation, ...renewed, dueAt: now };
    return { to, says: "The settled hook runs again now, from the stored answer; nothing is sent" };
  }
  if (obligation.state === "owed" && isDue(facts)) {
    return { to: null, says: "It is due already: a worker takes it next" };
  }
  refuseHeldUp(facts);
  return resend(facts);
}

/** Runs a hook again that has failed; what was given up stays so. */
function runAbandoned(facts: ObligationFacts): Step {
  refuseRunning(facts);
  if (isDue(facts)) return { to: null, says: "It is due already: the abandoned hook runs next" };
  const to: Progress = { ...facts.obligation, tries: 1, dueAt: facts.now };
  return { to, says: "The abandoned hook runs again now; nothing is sent" };
}

/**
 * Sends again only what cannot be there twice. A key that has not been used is what an "absent" gave
 * back; whatever else may have arrived needs a key that the provider still keeps.
 */
function resend(facts: ObligationFacts): Step {
  const { obligation, now, key, evidence, refuse } = facts;
  const { reached, keySince } = obligation;
  const to: Progress = { ...obligation, ...renewed, state: "owed", dueAt: now, reason: null };
  if (evidence) return { to, says: "An earlier call was answered: it is settled from that answer, nothing is sent" };
  if (reached === "no") return { to, says: "It is due now; nothing has reached the provider yet" };
  if (keySince === null) return { to, says: "It is due now: it goes out under a key that has not been used" };
  if (key.kind !== "good") throw refuse(doubtful(facts));
  return { to, says: "It is due now: the same request goes out under the same key" };
}

/** Why a repeat is not safe, and what is. */
function doubtful({ effect, key, obligation }: ObligationFacts): string {
  if (key.kind === "unknown") {
    return `an earlier call may have taken effect, and ${obligation.effect} is not registered here to say whether its key is good`;
  }
  const noKey = key.kind === "none" ? "the provider keeps no keys" : "its key is too old to prevent a second one";
  const lookUp = effect?.lookup ? "look it up, " : "";
  return `an earlier call may have taken effect, and ${noKey}; ${lookUp}renew the key if you know that it did not, or mark it done if it did`;
}
