import type { Limits } from "../domain/limits.ts";
import type { Progress } from "../domain/obligation.ts";
import { policyOf } from "../outbox/effect-policy.ts";
import {
  isDue,
  type ObligationFacts,
  type ObligationVerb,
  refuseClosed,
  refuseRunning,
  renewed,
  requireEffect,
  type Step,
} from "./act-on-obligation.ts";

/** Asks the provider now whether the operation took effect. */
export function lookup(limits: Limits): ObligationVerb {
  return { action: "lookup", decide: (facts) => decide(facts, limits) };
}

function decide(facts: ObligationFacts, limits: Limits): Step {
  const { obligation, now, refuse } = facts;
  refuseClosed(facts);
  refuseRunning(facts);
  if (obligation.state === "settling") throw refuse("it took effect already; retry runs its settled hook");
  if (obligation.reached === "no") throw refuse("nothing can have reached the provider yet; retry sends it");
  const declared = policyOf(requireEffect(facts), limits).lookup;
  if (declared === null) {
    throw refuse(
      `effect ${obligation.effect} has no lookup; ask the provider yourself, then mark it done or renew its key`,
    );
  }
  if (obligation.state === "uncertain" && isDue(facts)) {
    return { to: null, says: "It is due already: the lookup runs next" };
  }
  const to: Progress = {
    ...obligation,
    ...renewed,
    state: "uncertain",
    dueAt: now,
    reason: "an operator asked for a lookup",
  };
  return { to, says: `The lookup runs now${early(facts, declared.settleDelayMs)}` };
}

/** The provider may answer "absent" of what it has not finished: such an answer counts only later. */
function early({ obligation, now }: ObligationFacts, settleMs: number): string {
  const from = obligation.lastCallEndedAt === null ? now : obligation.lastCallEndedAt.wallMs + settleMs;
  return from > now ? `; an answer "absent" counts from ${new Date(from).toISOString()} on` : "";
}
