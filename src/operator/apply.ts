import { conflictReasons, isFinal, unmappedReason } from "../domain/outcome.ts";
import { lookAt, type ReceiptAction, runAgain } from "./act-on-receipt.ts";
import type { Acted, Acting } from "./acting.ts";

/** Runs the handler of an event that waits: held, parked, suspect, unmapped or quarantined. */
export async function apply(acting: Acting, request: ReceiptAction): Promise<Acted> {
  const facts = await lookAt(acting, request, "apply");
  const { outcome, reason } = facts.receipt;
  if (outcome === "conflict" && reason === conflictReasons.operation) {
    throw facts.refuse(
      "an operation key is taken by other input; mend the key in its handler and reprocess it, or resolve it as kept",
    );
  }
  if (outcome === "conflict") {
    throw facts.refuse("it is in conflict; resolve it: keep what is there, or take this event's content");
  }
  const unmapped = outcome === "ignored" && reason === unmappedReason;
  if (isFinal(outcome) && !unmapped) {
    return { changed: false, says: `It is ${outcome} already; reprocess runs its handler again` };
  }
  return runAgain(acting, facts, { action: "apply", why: request.why, force: false });
}

/** Runs the handler of any event whose bytes remain, through the same dedupe and guards as a delivery. */
export async function reprocess(acting: Acting, request: ReceiptAction): Promise<Acted> {
  const facts = await lookAt(acting, request, "reprocess");
  return runAgain(acting, facts, { action: "reprocess", why: request.why, force: false });
}
