import type { Instant, Stamp } from "./instant.ts";

/**
 * The states of an obligation.
 *
 * ```
 *           owe             claim: fence + 1, attempt committed before the first byte
 *  (none) -------> owed -----------------------------------------------> sending
 *                   ^                                                       |
 *                   |  not sent, "try again", or unknown with a live key    |
 *                   +-------------------------------------------------------+
 *                   ^                                                       +-- 2xx --> settling --> done
 *                   |  lookup: absent                                       +-- unknown, no live key --> uncertain
 *  uncertain -------+-- lookup: found --> settling --> done                 +-- permanent, or budget --> stuck
 *  application: owed, never started -> withdrawn;  elsewhere it asks that no new attempt begins
 *  operator: stuck -> owed, uncertain, done, cancelled;  any but done -> cancelled
 * ```
 *
 * A lease is not a state: `sending` holds one while a call runs, `uncertain` while a lookup runs, and
 * `settling` while the hook runs. So may `withdrawn` and `cancelled`, while the `abandoned` hook runs; one
 * of these that counts tries has a hook that failed. Every move names the fence it was claimed under.
 */
export const obligationStates = [
  "owed",
  "sending",
  "uncertain",
  "settling",
  "done",
  "stuck",
  "withdrawn",
  "cancelled",
] as const;
export type ObligationState = (typeof obligationStates)[number];

/** States that owe nothing more. */
export const closedStates: readonly ObligationState[] = ["done", "withdrawn", "cancelled"];

/** Whether all that can be due in this state is a hook, which calls nobody. */
export function runsHook(state: ObligationState): boolean {
  return state === "settling" || isAbandoned(state);
}

/** Whether it was given up before it was known to have taken effect. */
export function isAbandoned(state: ObligationState): boolean {
  return state === "withdrawn" || state === "cancelled";
}

/** How far an obligation may have got at the provider. Never falls back. */
export type Reached = "no" | "maybe" | "yes";

const reachedRank: Readonly<Record<Reached, number>> = { no: 0, maybe: 1, yes: 2 };

/** The further of two readings. */
export function furthest(left: Reached, right: Reached): Reached {
  return reachedRank[left] >= reachedRank[right] ? left : right;
}

/** A request as it was built inside the transaction; sent the same every time. */
export interface FrozenRequest {
  readonly method: string;
  readonly url: string;
  readonly contentType: string | null;
  readonly body: Uint8Array | null;
}

/** A bounded answer of the provider. */
export interface StoredAnswer {
  readonly status: number;
  readonly body: Uint8Array;
  readonly truncated: boolean;
}

/** What moves with every step of an obligation; written as a whole under the fence. */
export interface Progress {
  readonly state: ObligationState;
  readonly reached: Reached;
  /** Number of the idempotency key in use; a renewed key is a new generation. */
  readonly generation: number;
  /** When this generation's key may first have reached the provider; `null` while it cannot have. */
  readonly keySince: Stamp | null;
  /** Tries, lookups and worker crashes spent of their budgets since the operator last renewed them. */
  readonly tries: number;
  readonly lookups: number;
  readonly crashes: number;
  /** When the last call that may have reached the provider ended; by every clock, so that a step cannot cut a wait short. */
  readonly lastCallEndedAt: Stamp | null;
  /** When it is due next; `null` while leased, closed, or waiting for an operator. */
  readonly dueAt: Instant | null;
  /** Why it is where it is, for people. */
  readonly reason: string | null;
}

/** An obligation as the store keeps it, without its request. */
export interface Obligation extends Progress {
  readonly id: number;
  readonly tenant: string;
  readonly operationKey: string;
  /** Effect name and version, such as `ship/v1`. */
  readonly effect: string;
  /** Where it goes: the origin of the URL. */
  readonly destination: string;
  readonly connection: string;
  readonly account: string;
  /** The receipt that owed it, `null` when the application did. */
  readonly receiptId: number | null;
  /** What it must not overtake the others of, its tenant in front; `null` where nothing. */
  readonly orderKey: string | null;
  /** The earliest time that was wished for its first attempt. */
  readonly notBefore: Instant | null;
  /** The application asked for it back when an attempt had begun: no new one does. */
  readonly cancelRequested: boolean;
  readonly fence: number;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
}

/** When what may be sent is due: now, or at the time that it was wished for. */
export function owedDue({ notBefore }: Pick<Obligation, "notBefore">, now: Instant): Instant {
  return Math.max(now, notBefore ?? now);
}

export type AttemptKind = "send" | "lookup" | "settle" | "abandon";

/** Whether an attempt runs a hook, and calls nobody. */
export function isHook(kind: AttemptKind): boolean {
  return kind === "settle" || kind === "abandon";
}

/** How an attempt ended. `started` is one whose end nobody has written: the call may be in flight. */
export const attemptVerdicts = [
  "started",
  "released",
  "done",
  "not_sent",
  "again",
  "unknown",
  "running",
  "pause",
  "permanent",
  "key_reused",
  "found",
  "absent",
  "crashed",
  "hook_failed",
] as const;
export type AttemptVerdict = (typeof attemptVerdicts)[number];

/** The end of one attempt. `phase` is how far the call got; `cause` a short code, never a body. */
export interface AttemptEnd {
  readonly verdict: Exclude<AttemptVerdict, "started">;
  readonly phase: string | null;
  readonly status: number | null;
  readonly cause: string | null;
  readonly answer: StoredAnswer | null;
}

/** One try at an obligation, append-only; its number is the fence it ran under. */
export interface Attempt extends Omit<AttemptEnd, "verdict" | "answer"> {
  readonly obligationId: number;
  readonly fence: number;
  readonly kind: AttemptKind;
  readonly generation: number;
  readonly worker: string;
  readonly startedAt: Instant;
  readonly endedAt: Instant | null;
  readonly verdict: AttemptVerdict;
}
