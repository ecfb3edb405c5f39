/** The one table from what happened to what the sender is told. */
import { validateHeaderName, validateHeaderValue } from "node:http";
import { CounterfoilError, type ErrorCode } from "../domain/errors.ts";
import { isFinal } from "../domain/outcome.ts";
import type { Received, ReceivedItem } from "../inbox/arrival.ts";
import type { HandshakeAnswer } from "../providers/handshake.ts";
import type { AnswerName } from "../providers/provider-spec.ts";

/** A complete answer: small, and never more than the outcome, the event id or an error code. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** `null` where the status has none. */
  readonly body: string | null;
}

/** Status by error code; a code that is not here is 500. */
const statuses: Partial<Readonly<Record<ErrorCode, number>>> = {
  NO_EVENT_ID: 400,
  BODY_INCOMPLETE: 400,
  SIGNATURE_REFUSED: 401,
  UNKNOWN_CONNECTION: 404,
  METHOD_REFUSED: 405,
  BODY_TOO_LARGE: 413,
  MEDIA_TYPE_REFUSED: 415,
  HEADERS_TOO_LARGE: 431,
  CONNECTION_UNAVAILABLE: 503,
  OVERLOADED: 503,
  STORE_BUSY: 503,
  STORE_FULL: 503,
  STORE_UNAVAILABLE: 503,
  STORE_CORRUPT: 503,
  COMMIT_UNKNOWN: 503,
  STORE_MOVED: 503,
  STORE_INCOMPLETE: 503,
  SCHEMA_OUTDATED: 503,
  SCHEMA_NEWER: 503,
};

/** Statuses that a provider needs instead of the usual ones. */
type Overrides = Readonly<Partial<Record<AnswerName, number>>>;

const retryAfterSeconds = "2";

/** The answer to a delivery that has a receipt: 200 when nothing is owed for it, 202 while something is. */
export function answerReceived(received: Received, overrides: Overrides = {}): Answer {
  const { status, ...told } = toldReceived(received, overrides);
  return json(status, told);
}

/** The answer to a delivery that was not taken: a code, never an exception's text. */
export function answerError(error: unknown, overrides: Overrides = {}): Answer {
  const { status, ...told } = toldError(error, overrides);
  return json(status, told, retryHeaders(status));
}

/**
 * The answer to a batch: what each item would have been answered alone, in their order, under the worst of
 * their statuses. A number that is larger is worse: 503 and 500, which a sender tries again, before 400.
 */
export function answerBatch(items: readonly ReceivedItem[], overrides: Overrides = {}): Answer {
  const told = items.map((item) =>
    item.kind === "received" ? toldReceived(item.received, overrides) : toldError(item.error, overrides),
  );
  const status = told.length === 0 ? (overrides.final ?? 200) : Math.max(...told.map((item) => item.status));
  return json(status, { items: told }, retryHeaders(status));
}

interface Told {
  readonly status: number;
}

function toldReceived({ outcome, eventId, duplicate, mismatch }: Received, overrides: Overrides): Told {
  const status = isFinal(outcome) && !mismatch ? (overrides.final ?? 200) : (overrides.open ?? 202);
  return {
    status,
    outcome: duplicate ? "duplicate" : outcome,
    ...(duplicate && { first: outcome }),
    ...(mismatch && { mismatch }),
    event: eventId,
  } as Told;
}

function toldError(error: unknown, overrides: Overrides): Told {
  const code = error instanceof CounterfoilError ? error.code : "INTERNAL";
  const status = (code === "INTERNAL" ? undefined : overrides[code]) ?? statusOf(code);
  return { status, error: code } as Told;
}

function retryHeaders(status: number): Readonly<Record<string, string>> {
  return status === 503 ? { "retry-after": retryAfterSeconds } : {};
}

/** The status that a code is answered with. */
export function statusOf(code: ErrorCode | "INTERNAL"): number {
  return (code === "INTERNAL" ? undefined : statuses[code]) ?? 500;
}

export function json(status: number, body: object, headers: Readonly<Record<string, string>> = {}): Answer {
  if (bodiless.includes(status)) return { status, headers, body: null };
  return { status, headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) };
}

/** Statuses whose answers have no body (RFC 9110, 15.3.5, 15.3.6 and 15.4.5). */
const bodiless: readonly number[] = [204, 205, 304];

/** Whether a status can end a request: an interim one (1xx) cannot. */
export function isFinalStatus(status: number): boolean {
  return Number.isInteger(status) && status >= 200 && status <= 599;
}

/** How long a message is stands in these; each mount says it by itself. */
const framing: readonly string[] = ["content-length", "transfer-encoding", "connection"];

/**
 * A provider's own answer to a handshake, as it can be sent.
 *
 * @throws TypeError when it cannot be.
 */
export function answerOfHandshake({ status, headers, body }: HandshakeAnswer): Answer {
  if (!isFinalStatus(status)) {
    throw new TypeError(`Cannot answer the handshake: its status is ${String(status)}; give one from 200 to 599`);
  }
  for (const [name, value] of Object.entries(headers)) {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    if (framing.includes(name.toLowerCase())) {
      throw new TypeError(`Cannot answer the handshake: the header ${name} is not its own to set`);
    }
  }
  return { status, headers, body: bodiless.includes(status) ? null : String(body) };
}
