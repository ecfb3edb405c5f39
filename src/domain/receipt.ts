import type { Instant } from "./instant.ts";
import type { Outcome } from "./outcome.ts";

/** Names an event: unique within one account of one connection, never alone. */
export interface ReceiptKey {
  readonly connection: string;
  readonly account: string;
  readonly eventId: string;
}

/** Names a line of events that are applied one after the other. */
export interface OrderKey {
  readonly connection: string;
  readonly account: string;
  readonly orderKey: string;
}

/** The row that says an event is known. Never partitioned; its key outlives its bytes. */
export interface Receipt extends ReceiptKey {
  readonly id: number;
  readonly tenant: string;
  readonly type: string;
  /** Digest of the signed bytes, with the version of its rule in front. */
  readonly digest: string;
  /** Which secret matched. */
  readonly secretId: string;
  readonly outcome: Outcome;
  readonly reason: string | null;
  readonly receivedAt: Instant;
  readonly decidedAt: Instant;
  /** Deliveries of this event, the first included. */
  readonly deliveries: number;
  /** Failed runs of its handler so far. */
  readonly tries: number;
  /** Starts of its handler in a row that no decision followed: the worker was lost, or the run is under way. */
  readonly starts: number;
  /** When an open event is tried next; `null` when it waits for an operator or is final. */
  readonly dueAt: Instant | null;
  /** When a parked event becomes the operator's; `null` when there is no deadline. */
  readonly deadlineAt: Instant | null;
  /** The key within which it is applied in order; `null` without one, and where it was applied at once. */
  readonly orderKey: string | null;
  /** Grows with every decision; an operator's action names the version it saw. */
  readonly version: number;
}

/** The bytes of a delivery, kept apart from its receipt. */
export interface Payload {
  readonly bytes: Uint8Array;
  /** The headers that verification read, as JSON text of [name, value] pairs. */
  readonly headers: string;
}
