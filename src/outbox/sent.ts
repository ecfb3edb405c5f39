import type { AttemptEnd } from "../domain/obligation.ts";
import type { Ended } from "./attempt.ts";
import type { Sent } from "./decide.ts";

/** The end of a call that did not say "done". */
export function sent(learned: Omit<Sent, "kind">, { phase, cause }: Pick<AttemptEnd, "phase" | "cause">): Ended {
  return {
    learned: { kind: "sent", ...learned },
    end: { verdict: learned.verdict, phase, status: null, cause, answer: null },
  };
}
