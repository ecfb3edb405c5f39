/**
 * Every default that bounds a queue, body, retry, batch, lease or loop, with the relations between
 * them. `docs/defaults.md` shows the same table; a test holds the two equal.
 */
export interface Limits {
  /** Largest body of a connection whose provider names no cap of its own. */
  readonly bodyBytes: number;
  /** Bodies being read at once, all together, before new ones get 503. */
  readonly bodyBytesReading: number;
  readonly headerBytes: number;
  readonly headerCount: number;
  /** Time for a request's headers, and for the whole request. */
  readonly headersMs: number;
  readonly requestMs: number;
  /** Open connections; more are closed without an answer. */
  readonly connectionsMax: number;
  /** Deliveries that may wait for a commit before new ones get 503. */
  readonly waitingMax: number;
  /** Longest wait for the write lock before 503. */
  readonly lockMs: number;
  /** Longest time of one handler, where the store can bound it. */
  readonly handlerMs: number;
  /** Deliveries that share one commit, and the handler time after which a group closes. */
  readonly groupMax: number;
  readonly groupMs: number;
  /** Whole-transaction runs of a handler that lost a deadlock or serialization race. */
  readonly rerunsMax: number;
  readonly jsonDepth: number;
  readonly eventIdBytes: number;
  /** How long payload bytes stay after a final outcome; 0 keeps none. */
  readonly bytesMs: number;
  /** Redeliveries of one event that are recorded one by one; later ones are only counted. */
  readonly deliveriesKept: number;
  readonly mismatchesKept: number;
  readonly refusalsKept: number;
  /** Held events: first and longest delay, and failed runs before the operator is asked. */
  readonly heldFirstMs: number;
  readonly heldMaxMs: number;
  readonly heldTriesMax: number;
  /** Parked events: how often they are tried without an arrival, and when the operator is asked. */
  readonly parkedRetryMs: number;
  readonly parkedDeadlineMs: number;
  readonly obligationsPerEvent: number;
  readonly requestBytes: number;
  readonly answerBytes: number;
  /** One outside call: time to connect, and in all. */
  readonly connectMs: number;
  readonly callMs: number;
  /** A claim ends then unless renewed; renewed every `heartbeatMs`. */
  readonly leaseMs: number;
  readonly heartbeatMs: number;
  /** Time before a lease's end at which its holder stops: clock skew and scheduling. */
  readonly leaseMarginMs: number;
  /** Time before a key's end after which it is not used: at least a call and the skew. */
  readonly keyMarginMs: number;
  readonly pollMs: number;
  readonly claimMax: number;
  readonly callsMax: number;
  readonly callsPerDestination: number;
  readonly attemptsMax: number;
  readonly retryFirstMs: number;
  readonly retryMaxMs: number;
  readonly retryAfterMaxMs: number;
  readonly lookupsMax: number;
  readonly settleDelayMs: number;
  readonly crashesMax: number;
  /** Failed runs of a `settled` hook before the operator is asked. */
  readonly hookTriesMax: number;
  /** Time that shutdown gives calls in flight. */
  readonly graceMs: number;
}

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** The defaults themselves; an application changes any of them by name. */
export const defaults: Limits = {
  bodyBytes: 1024 * 1024,
  bodyBytesReading: 128 * 1024 * 1024,
  headerBytes: 16 * 1024,
  headerCount: 200,
  headersMs: 5 * second,
  requestMs: 10 * second,
  connectionsMax: 10_000,
  waitingMax: 2_000,
  lockMs: 2 * second,
  handlerMs: 1_500,
  groupMax: 64,
  groupMs: 200,
  rerunsMax: 4,
  jsonDepth: 128,
  eventIdBytes: 512,
  bytesMs: 3 * day,
  deliveriesKept: 32,
  mismatchesKept: 16,
  refusalsKept: 1_000,
  heldFirstMs: 5 * second,
  heldMaxMs: hour,
  heldTriesMax: 20,
  parkedRetryMs: 5 * minute,
  parkedDeadlineMs: day,
  obligationsPerEvent: 100,
  requestBytes: 256 * 1024,
  answerBytes: 64 * 1024,
  connectMs: 5 * second,
  callMs: 30 * second,
  leaseMs: minute,
  heartbeatMs: 15 * second,
  leaseMarginMs: 5 * second,
  keyMarginMs: 45 * second,
  pollMs: second,
  claimMax: 64,
  callsMax: 64,
  callsPerDestination: 16,
  attemptsMax: 30,
  retryFirstMs: second,
  retryMaxMs: hour,
  retryAfterMaxMs: 6 * hour,
  lookupsMax: 30,
  settleDelayMs: 10 * second,
  crashesMax: 5,
  hookTriesMax: 20,
  graceMs: 25 * second,
};

const relations: readonly (readonly [string, (limits: Limits) => boolean])[] = [
  ["leaseMs > callMs + leaseMarginMs", (l) => l.leaseMs > l.callMs + l.leaseMarginMs],
  ["heartbeatMs < leaseMs - leaseMarginMs", (l) => l.heartbeatMs < l.leaseMs - l.leaseMarginMs],
  ["keyMarginMs >= callMs + leaseMarginMs", (l) => l.keyMarginMs >= l.callMs + l.leaseMarginMs],
  ["connectMs <= callMs", (l) => l.connectMs <= l.callMs],
  ["pollMs < leaseMs", (l) => l.pollMs < l.leaseMs],
  ["claimMax >= 1 and callsMax >= 1", (l) => l.claimMax >= 1 && l.callsMax >= 1],
  ["callsPerDestination <= callsMax", (l) => l.callsPerDestination <= l.callsMax],
  [
    "pollMs >= 1 and heartbeatMs >= 1 and retryFirstMs >= 1",
    (l) => Math.min(l.pollMs, l.heartbeatMs, l.retryFirstMs) >= 1,
  ],
  ["retryFirstMs <= retryMaxMs", (l) => l.retryFirstMs <= l.retryMaxMs],
  ["heldFirstMs <= heldMaxMs", (l) => l.heldFirstMs <= l.heldMaxMs],
  ["headersMs <= requestMs", (l) => l.headersMs <= l.requestMs],
  // Excess deliveries and health checks need a connection to be answered on.
  ["waitingMax < connectionsMax", (l) => l.waitingMax < l.connectionsMax],
  ["groupMax <= waitingMax", (l) => l.groupMax <= l.waitingMax],
];

/**
 * Puts overrides over the defaults and asserts the relations.
 *
 * @throws RangeError naming the relation that does not hold, or the value that is no bound.
 * @example
 * ```ts
 * withLimits({ groupMax: 16 }).groupMax; // 16
 * ```
 */
export function withLimits(overrides: Partial<Limits> = {}): Limits {
  const limits = { ...defaults, ...overrides };
  for (const [name, value] of Object.entries(limits)) {
    if (!(name in defaults)) throw new RangeError(`Cannot set limit "${name}": there is no such limit`);
    if (!Number.isSafeInteger(value) || value < 0) {
      throw new RangeError(`Cannot set limit ${name} to ${value}: it must be a whole number from 0`);
    }
  }
  for (const [text, holds] of relations) {
    if (!holds(limits)) throw new RangeError(`Cannot use these limits: ${text} does not hold`);
  }
  return limits;
}
