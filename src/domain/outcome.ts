/** Outcomes that end an event: a redelivery answers `duplicate` with them. */
export const finalOutcomes = ["applied", "stale", "refused", "ignored", "resolved"] as const;

/** Outcomes that still owe something: a retry, an arrival, or an operator's word. */
export const openOutcomes = ["queued", "parked", "held", "conflict", "quarantined", "suspect"] as const;

export type FinalOutcome = (typeof finalOutcomes)[number];
export type OpenOutcome = (typeof openOutcomes)[number];
/** What became of an event: final, or open and still owed. */
export type Outcome = FinalOutcome | OpenOutcome;

/** Whether an outcome is final. */
export function isFinal(outcome: Outcome): outcome is FinalOutcome {
  return (finalOutcomes as readonly string[]).includes(outcome);
}

/** The reason of an `ignored` receipt whose type no handler was mapped to; its bytes stay until decided. */
export const unmappedReason = "unmapped";

/** The reason of a `queued` receipt that an earlier event of its order key stands in front of. */
export const behindReason = "behind an earlier event of its order key";

/** The reason of a `queued` receipt that came while its connection was paused. */
export const pausedReason = "its connection is paused";

/** The reason of a `held` receipt whose handler is not run again by itself. */
export const lostReason = "crashed worker: each that ran its handler was lost";

/** Outcomes in which an event keeps later ones of its order key waiting. */
export const orderKeepingOutcomes = ["queued", "held", "parked", "conflict"] as const;

/** Whether later events of the same order key have to wait for one with this outcome. */
export function keepsOrder(outcome: Outcome): boolean {
  return (orderKeepingOutcomes as readonly string[]).includes(outcome);
}

/** Why an event is a `conflict`: only the first can be resolved by taking its content. */
export const conflictReasons = {
  snapshot: "a snapshot of the same revision is kept with other content",
  operation: "an operation key is taken by other input",
} as const;

/** What a handler waits for: a kind of thing and its id, within the tenant. */
export interface Prerequisite {
  readonly kind: string;
  readonly id: string;
}

/** What was decided about one event, ready to be written to its receipt. */
export interface Decision {
  readonly outcome: Outcome;
  /** Why, for people: no payload, no secret. */
  readonly reason: string | null;
  /** Set when the outcome is `parked`, or `conflict` while a source is asked. */
  readonly waitsFor?: Prerequisite;
}
