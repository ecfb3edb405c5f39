import type { ObligationState } from "../domain/obligation.ts";

/** States in which an obligation holds up the later ones of its order key: it has neither taken effect nor is it closed. */
const holding: readonly ObligationState[] = ["owed", "sending", "uncertain", "stuck"];

/** The same for a statement, word for word as the partial indexes have it. */
export const holdingStates = "('owed', 'sending', 'uncertain', 'stuck')";

export function holdsUp(state: ObligationState): boolean {
  return holding.includes(state);
}
