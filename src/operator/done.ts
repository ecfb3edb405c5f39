import type { EffectDefinition } from "../domain/effect.ts";
import type { Json } from "../domain/json.ts";
import type { Limits } from "../domain/limits.ts";
import type { Progress, StoredAnswer } from "../domain/obligation.ts";
import { check } from "../domain/schema.ts";
import { operatorAnswer } from "../outbox/stored-answer.ts";
import {
  isDue,
  type ObligationFacts,
  type ObligationVerb,
  refuseRunning,
  renewed,
  requireEffect,
  type Step,
} from "./act-on-obligation.ts";

/** What an operator knows of an operation that took effect. */
export interface Done {
  /** How it is known, for the audit: a number at the provider, who confirmed it. */
  readonly evidence: string;
  /** What the provider answered, as `settled` is to read it; must fit the effect's answer schema. */
  readonly answer?: Json | undefined;
}

/** Takes the operator's word that the operation took effect. Never sends. */
export function done({ evidence, answer }: Done, limits: Limits): ObligationVerb {
  if (evidence.trim() === "") {
    throw new TypeError("Cannot mark done: the evidence is blank; say how you know that it took effect");
  }
  const stored = answer === undefined ? undefined : operatorAnswer(answer, limits.answerBytes);
  if (stored?.truncated) {
    throw new TypeError(`Cannot mark done: the answer is over ${limits.answerBytes} bytes; give what the hook needs`);
  }
  return { action: "done", decide: (facts) => decide(facts, answer, stored) };
}

function decide(facts: ObligationFacts, answer: Json | undefined, stored: StoredAnswer | undefined): Step {
  const { obligation, now, refuse } = facts;
  if (obligation.state === "done") return { to: null, says: "It is done already" };
  if (obligation.state === "cancelled" || obligation.state === "withdrawn") throw refuse(`it is ${obligation.state}`);
  refuseRunning(facts);
  if (saidAlready(facts, stored)) return { to: null, says: "It is settling already: the settled hook runs next" };
  const effect = requireEffect(facts);
  refuseUnfit(facts, effect, answer);
  const hook = effect.settled !== undefined;
  const to: Progress = {
    ...obligation,
    ...renewed,
    state: hook ? "settling" : "done",
    reached: "yes",
    dueAt: hook ? now : null,
    reason: "marked done by an operator",
  };
  const says = hook ? "It is settling: the settled hook runs now" : "It is done";
  return { to, says, ...(stored && { answer: stored }) };
}

/** A second click before the hook has run: it is due, and this answer, if one is given, is what it will read. */
function saidAlready(facts: ObligationFacts, given: StoredAnswer | undefined): boolean {
  const { obligation, answer } = facts;
  if (obligation.state !== "settling" || !isDue(facts)) return false;
  return given === undefined || (answer?.status === given.status && Buffer.compare(answer.body, given.body) === 0);
}

function refuseUnfit(
  { obligation, refuse }: ObligationFacts,
  { answer: schema, settled }: EffectDefinition,
  answer: Json | undefined,
): void {
  if (answer === undefined) {
    if (obligation.state === "settling") {
      throw refuse("it took effect already; give an answer that fits, or retry its settled hook");
    }
    if (schema && settled) {
      throw refuse("its settled hook reads an answer; give one that fits the effect's answer schema");
    }
    return;
  }
  const checked = schema && check(schema, answer);
  if (checked?.fits === false) throw refuse(`the answer ${checked.issues.join("; ")}`);
}
