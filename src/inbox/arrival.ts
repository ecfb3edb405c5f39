import type { Event, Handler } from "../domain/handler.ts";
import type { Decision } from "../domain/outcome.ts";
import type { ParsedBody, UnreadableCause } from "../parse/parse-body.ts";
import type { Identity } from "../providers/identify.ts";
import type { ReceiptDraft } from "../store/store.ts";

/** What to do with an event whose handler failed: keep and retry it, let the sender retry, or tell the caller. */
export type FailurePolicy = "hold" | "refuse" | "throw";

/** What is read of a verified delivery before its event: plain data, so that another thread of this process can read it. */
export interface ReadDelivery {
  readonly identity: Exclude<Identity, { readonly kind: "no_usable_id" }>;
  readonly digest: string;
  /** Why the body cannot be read. */
  readonly unreadable: UnreadableCause | null;
  /** The headers that are kept with the bytes. */
  readonly headers: string;
  readonly secretId: string;
}

/** A body, parsed as far as its event needs it. */
export type EventBody = Pick<ParsedBody, "value" | "exactText">;

/** A delivery on its way to its arrival; the body where it was parsed in this thread. */
export interface Readable {
  readonly read: ReadDelivery;
  /** The signed bytes, which are kept; of a batch, those of its item. */
  readonly bytes: Uint8Array;
  /** What they say, as JSON text: the same bytes unless they were encoded. */
  readonly content: Uint8Array;
  readonly body?: EventBody;
}

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
  /** What its bytes say, as JSON text. */
  readonly content: Uint8Array;
  /** Time of its handler, statements included: the sender waits for it. */
  readonly handlerMs: number;
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

/** What became of one item of a batch. */
export type ReceivedItem =
  | { readonly kind: "received"; readonly received: Received }
  /** Nothing of it was kept. */
  | { readonly kind: "refused"; readonly error: unknown };

/** What became of a delivery that was verified: of its event, or of each item of its batch, in their order. */
export type Delivered =
  | { readonly kind: "event"; readonly received: Received }
  | { readonly kind: "batch"; readonly items: readonly ReceivedItem[] };
