/**
 * Every default that bounds a queue, body, retry, batch, lease or loop, with the relations between
 * them. `docs/defaults.md` shows the same table; a test holds the two equal.
 */
export interface Limits {
  /** Largest body of a connection whose provider names no cap of its own. */
  readonly bodyBytes: number;
  /** Bodies held at once, from their first byte to their answer, before new ones get 503. */
  readonly bodyBytesReading: number;
  /** Connections that a function has found and that are kept, and as many ids that it knows nothing of. */
  readonly connectionsKept: number;
  /** How long what a function says of a connection counts: the longest life of a secret that was taken out. */
  readonly connectionMs: number;
  /** How long it counts that there is no such connection. */
  readonly noConnectionMs: number;
  /** Time that a function has to find a connection, before 503. */
  readonly findMs: number;
  /** Connections that a function is asked for at once, before 503. */
  readonly findsMax: number;
  /** Size of a request's headers. */
  readonly headerBytes: number;
  /** Number of a request's headers. */
  readonly headerCount: number;
  /** Time for a request's headers to arrive. */
  readonly headersMs: number;
  /** Time for a whole request to arrive. */
  readonly requestMs: number;
  /** Open connections; more are closed without an answer. */
  readonly connectionsMax: number;
  /** Deliveries that may wait for a commit before new ones get 503. */
  readonly waitingMax: number;
  /** Longest wait of a delivery for a group to begin, before 503. */
  readonly queueMs: number;
  /** Longest wait for the write lock before 503. */
  readonly lockMs: number;
  /** Wait of a whole group for what another transaction holds, before the delivery that needs it runs by itself; at most `lockMs`. */
  readonly groupLockMs: number;
  /** Deliveries that share one commit. */
  readonly groupMax: number;
  /** Events of one batch of a sender. */
  readonly batchMax: number;
  /** Handler time after which a group takes no further member. */
  readonly groupMs: number;
  /** Time of a handler while its sender waits, statements included, at most what `ackMs` leaves; later runs and hooks: of their other waits. SQLite allows none. */
  readonly handlerMs: number;
  /** Whole-transaction runs of a handler that lost a deadlock or serialization race. */
  readonly rerunsMax: number;
  /** How long payload bytes stay after a final outcome; 0 keeps none. */
  readonly bytesMs: number;
  /** How long the frozen request, the input and the answers of a finished obligation stay. */
  readonly requestsMs: number;
  /** How long attempts of a finished obligation, and facts of refused deliveries, stay. */
  readonly historyMs: number;
  /** Redeliveries of one event that are recorded one by one; later ones are only counted. */
  readonly deliveriesKept: number;
  /** Other contents of one event that are kept beside it. */
  readonly mismatchesKept: number;
  /** Refused deliveries whose safe facts are kept, the latest. */
  readonly refusalsKept: number;
  /** First delay of an event whose handler failed. */
  readonly heldFirstMs: number;
  /** Longest delay of an event whose handler failed. */
  readonly heldMaxMs: number;
  /** Failed runs of a handler before the operator is asked. */
  readonly heldTriesMax: number;
  /** First delay at which a parked event is tried without an arrival; it doubles up to an hour. */
  readonly parkedRetryMs: number;
  /** Time after which a parked event is the operator's. */
  readonly parkedDeadlineMs: number;
  /** Obligations of one transaction. */
  readonly obligationsPerEvent: number;
  /** Body of a frozen request. */
  readonly requestBytes: number;
  /** Stored answer of a provider; the rest is cut. */
  readonly answerBytes: number;
  /** Time to connect to a destination. */
  readonly connectMs: number;
  /** Time of one outside call. */
  readonly callMs: number;
  /** Life of a claim unless renewed. */
  readonly leaseMs: number;
  /** How often claims are renewed. */
  readonly heartbeatMs: number;
  /** Time before a lease's end at which its holder stops: clock skew and scheduling. */
  readonly leaseMarginMs: number;
  /** Time before a key's end after which it is not used: at least a call and the skew. */
  readonly keyMarginMs: number;
  /** How often loops look for work without being woken. */
  readonly pollMs: number;
  /** Obligations of one claim. */
  readonly claimMax: number;
  /** Calls in flight, per process. */
  readonly callsMax: number;
  /** Calls in flight to one destination, per process. */
  readonly callsPerDestination: number;
  /** Failed calls in a row after which a destination is left alone for a while, per process. */
  readonly breakerFailures: number;
  /** How long it is first left alone; it doubles until a call is answered. */
  readonly breakerFirstMs: number;
  /** Longest time that it is left alone. */
  readonly breakerMaxMs: number;
  /** Tries of an obligation before the operator is asked. */
  readonly attemptsMax: number;
  /** First delay of a retry. */
  readonly retryFirstMs: number;
  /** Longest delay of a retry. */
  readonly retryMaxMs: number;
  /** Longest Retry-After that is honoured. */
  readonly retryAfterMaxMs: number;
  /** Lookups that tell nothing before the operator is asked. */
  readonly lookupsMax: number;
  /** Time after a call's end from which a lookup's "absent" counts. */
  readonly settleDelayMs: number;
  /** Workers lost in a row, over an obligation or a stored event's handler, before the operator is asked. */
  readonly crashesMax: number;
  /** Failed runs of a settled hook before the operator is asked. */
  readonly hookTriesMax: number;
  /** Time that shutdown gives what is in flight. */
  readonly graceMs: number;
}

/** Bounds that no configuration changes: what is stored was read under them. */
export const fixed: { readonly jsonDepth: number; readonly eventIdBytes: number; readonly formFields: number } = {
  jsonDepth: 128,
  eventIdBytes: 512,
  formFields: 1_000,
};

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** The defaults themselves; an application changes any of them by name. */
export const defaults: Limits = {
  bodyBytes: 1024 * 1024,
  bodyBytesReading: 128 * 1024 * 1024,
  connectionsKept: 10_000,
  connectionMs: minute,
  noConnectionMs: 5 * second,
  findMs: second,
  findsMax: 64,
  headerBytes: 16 * 1024,
  headerCount: 200,
  headersMs: 5 * second,
  requestMs: 10 * second,
  connectionsMax: 10_000,
  waitingMax: 2_000,
  queueMs: second,
  lockMs: 1_500,
  groupLockMs: 300,
  groupMax: 32,
  batchMax: 1_000,
  groupMs: 200,
  handlerMs: 5 * second,
  rerunsMax: 4,
  bytesMs: 3 * day,
  requestsMs: 30 * day,
  historyMs: 90 * day,
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
  claimMax: 128,
  callsMax: 128,
  callsPerDestination: 16,
  breakerFailures: 10,
  breakerFirstMs: second,
  breakerMaxMs: minute,
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

/** What must hold between limits, each as the docs show it. */
export const relations: readonly (readonly [string, (limits: Limits) => boolean])[] = [
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
  ["breakerFailures >= 1", (l) => l.breakerFailures >= 1],
  ["1 <= breakerFirstMs <= breakerMaxMs", (l) => l.breakerFirstMs >= 1 && l.breakerFirstMs <= l.breakerMaxMs],
  ["retryFirstMs <= retryMaxMs", (l) => l.retryFirstMs <= l.retryMaxMs],
  ["heldFirstMs <= heldMaxMs", (l) => l.heldFirstMs <= l.heldMaxMs],
  ["headersMs <= requestMs", (l) => l.headersMs <= l.requestMs],
  // Excess deliveries and health checks need a connection to be answered on.
  ["waitingMax < connectionsMax", (l) => l.waitingMax < l.connectionsMax],
  ["groupMax >= 1", (l) => l.groupMax >= 1],
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
