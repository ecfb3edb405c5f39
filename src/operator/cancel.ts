import { furthest } from "../domain/obligation.ts";
import { type ObligationFacts, type ObligationVerb, renewed, type Step } from "./act-on-obligation.ts";

/** Gives an obligation up. A call that is running is not stopped; what it learns stays on its attempt. */
export function cancel(reason: string): ObligationVerb {
  if (reason.trim() === "") throw new TypeError("Cannot cancel: the reason is blank; say why nothing more is owed");
  return { action: "cancel", decide: (facts) => decide(facts, reason) };
}

function decide({ obligation, now, effect, running, refuse }: ObligationFacts, reason: string): Step {
  const { state, reached } = obligation;
  if (state === "cancelled") return { to: null, says: "It is cancelled already" };
  if (state === "done" || state === "withdrawn") throw refuse(`it is ${state}, so nothing more is owed`);
  return {
    // The row of a call in flight says how far the ones before it got.
    to: {
      ...obligation,
      state: "cancelled",
      reached: state === "sending" ? furthest(reached, "maybe") : reached,
      // From here on tries count runs of the hook; where the effect is not registered there is none to run.
      ...renewed,
      dueAt: effect?.abandoned === undefined ? null : now,
      reason: `cancelled by an operator: ${reason}`,
    },
    says: `It is cancelled: nothing more is sent${consequence(reached, running)}`,
  };
}

function consequence(reached: ObligationFacts["obligation"]["reached"], running: boolean): string {
  if (running) return "; a call was running, and what it learns is kept on its attempt";
  if (reached === "yes") return "; it took effect at the provider before";
  return reached === "maybe" ? "; an earlier call may have taken effect at the provider" : "";
}
