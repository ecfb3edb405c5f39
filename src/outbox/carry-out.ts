import { type Attempting, type Ended, releasedEnd } from "./attempt.ts";
import { beforeSend } from "./decide.ts";
import { lookUp } from "./look-up.ts";
import { send } from "./send.ts";
import { situationOf } from "./settle.ts";
import { unfitness } from "./stored-answer.ts";

/** Carries out a claim to send or to look up, unless something was learned since it came due. */
export async function carryOut(attempting: Attempting): Promise<Ended> {
  const { claim, definition, runtime } = attempting;
  const { kind, evidence, answer, obligation } = claim;
  if (evidence) {
    return { learned: { kind: "exists", by: "evidence", unfit: unfitness(definition, answer) }, end: releasedEnd };
  }
  if (kind === "lookup") return lookUp(attempting);
  const situation = situationOf({ claim, definition, obligation }, { stamp: claim.claimedAt }, runtime);
  return obligation.cancelRequested || beforeSend(situation)
    ? { learned: { kind: "halted" }, end: releasedEnd }
    : send(attempting);
}
