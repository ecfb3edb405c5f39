import type { Event, Handler } from "../domain/handler.ts";
import type { Decision } from "../domain/outcome.ts";
import type { ReceiptDraft } from "../store/store.ts";

/** What to do with an event whose handler failed: keep and retry it, let the sender retry, or tell the caller. */
export type FailurePolicy = "hold" | "refuse" | "throw";

/**
 * A verified delivery on its way to its receipt: either a handler is to run, or it was decided by
 * reading it (unreadable, wrong mode, no handler for its type, no tenant).
 */
export interface Arrival {
  readonly draft: ReceiptDraft;
  readonly reading: Reading;
  readonly policy: FailurePolicy;
  /** Only kept now: a worker runs the handler. */
  readonly later: boolean;
  /** What its handler left when it broke a transaction; it is not run again for that. */
  readonly broke?: Decision;
}

/** What tells events apart: copies of one have the same. */
export function keyOf({ draft }: Arrival): string {
  return `${draft.connection}\n${draft.account}\n${draft.eventId}`;
}

export type Reading =
  | {
      readonly kind: "runnable";
      readonly event: Event;
      readonly handler: Handler;
      readonly rank: string | null;
      readonly orderKey: string | null;
    }
  | { readonly kind: "decided"; readonly decision: Decision };

/** The answer to a delivery that has a receipt. */
export interface Received {
  readonly eventId: string;
  /** The outcome of the event's first delivery, also when this one is a duplicate. */
  readonly outcome: Decision["outcome"];
  readonly reason: string | null;
  readonly duplicate: boolean;
  /** The event is known with other content; this delivery's content was recorded beside it. */
  readonly mismatch: boolean;
}
