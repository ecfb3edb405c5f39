/**
 * Writes what Counterfoil says of itself as JSON lines.
 *
 * Each kind of event has a level and a list of the fields that are written. Nothing else gets out, so a
 * field added to an event stays out of the log until someone lists it here: no payload, header or
 * secret is in the list, by construction rather than by redaction.
 */
import { type DestinationStream, type Level, pino, stdTimeFunctions } from "pino";
import type { Emit, TelemetryEvent } from "../domain/telemetry.ts";

type Kind = TelemetryEvent["kind"];
type FieldOf<K extends Kind> = Exclude<keyof Extract<TelemetryEvent, { readonly kind: K }>, "kind">;

const lines: { readonly [K in Kind]: readonly [Level, ...FieldOf<K>[]] } = {
  "delivery.answered": ["debug", "connection", "account", "eventId", "type", "outcome", "duplicate", "mismatch", "ms"],
  "delivery.refused": ["info", "connection", "code", "cause"],
  "delivery.failed": ["error", "connection", "eventId", "code", "summary"],
  "event.decided": ["info", "connection", "account", "eventId", "outcome", "by"],
  "handler.failed": ["error", "connection", "eventId", "code", "summary"],
  "group.committed": ["debug", "members", "ms"],
  "group.split": ["info", "members", "code"],
  "attempt.started": ["debug", "obligationId", "effect", "attempt", "fence"],
  "attempt.ended": ["info", "obligationId", "effect", "attempt", "fence", "verdict", "state", "status", "cause"],
  "fence.refused": ["warn", "obligationId", "effect", "fence"],
  "evidence.used": ["warn", "obligationId", "effect", "fence"],
  "lease.expired": ["warn", "obligationId", "effect", "fence"],
  "lease.lost": ["warn", "obligationId", "effect", "fence"],
  "key.expired": ["warn", "obligationId", "effect"],
  "park.released": ["info", "connection", "eventId"],
  "refresh.ended": ["info", "connection", "account", "resource", "ticket", "outcome", "reason"],
  "destination.paused": ["error", "destination", "reason"],
  "breaker.opened": ["warn", "destination", "forMs"],
  "breaker.closed": ["info", "destination"],
  "effect.unclaimed": ["error", "effect", "count"],
  "operator.acted": ["info", "action", "target", "who"],
  "loop.failed": ["error", "loop", "code", "summary"],
  "loop.recovered": ["info", "loop"],
};

/** Settings of {@link jsonLogger}. */
export interface JsonLoggerOptions {
  /** The least level that is written. Default `"info"`. */
  readonly level?: Level | "silent" | undefined;
  /** Where lines go. Default standard error, written at once: standard output is a program's own. */
  readonly destination?: DestinationStream | undefined;
}

const loggers = new WeakSet<Emit>();

/** Whether a subscriber came from {@link jsonLogger}. */
export function isJsonLogger(emit: Emit): boolean {
  return loggers.has(emit);
}

/** Longest text of one field: an id may come from a sender, and a sender may not fill the log. */
const textMax = 512;

/**
 * Subscribes a JSON-lines log: `{"level":"info","time":"2026-01-01T00:00:00.000Z","kind":"event.decided",...}`.
 *
 * @example
 * ```ts
 * const emit = jsonLogger({ level: "debug" });
 * ```
 */
export function jsonLogger({ level = "info", destination }: JsonLoggerOptions = {}): Emit {
  const logger = pino(
    { level, base: null, timestamp: stdTimeFunctions.isoTime, formatters: { level: (label) => ({ level: label }) } },
    destination ?? pino.destination({ fd: 2, sync: true }),
  );
  const emit: Emit = (event) => {
    const [usual, ...fields] = lines[event.kind];
    const at = needsOperator(event) ? "error" : usual;
    if (logger.isLevelEnabled(at)) logger[at](entry(event, fields));
  };
  loggers.add(emit);
  return emit;
}

/** An attempt that leaves its obligation where only a person can take it further. */
function needsOperator(event: TelemetryEvent): boolean {
  return event.kind === "attempt.ended" && event.state === "stuck";
}

function entry(event: TelemetryEvent, fields: readonly string[]): Record<string, unknown> {
  const source = event as unknown as Readonly<Record<string, unknown>>;
  return { kind: event.kind, ...Object.fromEntries(fields.map((field) => [field, bounded(source[field])])) };
}

function bounded(value: unknown): unknown {
  return typeof value === "string" && value.length > textMax ? `${value.slice(0, textMax)}...` : value;
}
