import type { ObligationState } from "../domain/obligation.ts";
import type { Outcome } from "../domain/outcome.ts";
import type { Emit, TelemetryEvent } from "../domain/telemetry.ts";
import { Histogram, type Labels, NumberSeries } from "./series.ts";

type Kind = TelemetryEvent["kind"];
type FieldOf<K extends Kind> = Exclude<keyof Extract<TelemetryEvent, { readonly kind: K }>, "kind">;

/**
 * The counter of each kind of event: its name, what it counts, and the fields that become labels.
 *
 * Labels are names of the configuration, outcomes and codes. Event ids and keys have no place here:
 * each would be a series of its own.
 */
const counters: { readonly [K in Kind]: readonly [name: string, help: string, ...labels: FieldOf<K>[]] } = {
  "delivery.answered": [
    "deliveries",
    "Deliveries answered after a commit",
    "connection",
    "outcome",
    "duplicate",
    "mismatch",
  ],
  "delivery.refused": ["refusals", "Deliveries refused before the store", "connection", "code", "cause"],
  "delivery.failed": ["delivery_failures", "Deliveries that could not be stored", "connection", "code"],
  "event.decided": ["decisions", "Outcomes decided", "connection", "outcome", "by"],
  "handler.failed": ["handler_failures", "Runs of handlers that failed", "connection", "code"],
  "group.committed": ["commits", "Durable commits of groups of deliveries"],
  "group.split": ["group_splits", "Groups whose members had to run alone", "code"],
  "attempt.started": ["attempts_started", "Attempts recorded", "effect", "attempt"],
  "attempt.ended": ["attempts", "Attempts that ended", "effect", "attempt", "verdict"],
  "fence.refused": ["fences_refused", "Late writes of stale workers, refused", "effect"],
  "evidence.used": ["evidence_used", "Late answers read as done", "effect"],
  "lease.expired": ["leases_expired", "Leases whose holder died", "effect"],
  "lease.lost": ["leases_lost", "Leases that could not be renewed", "effect"],
  "key.expired": ["keys_expired", "Idempotency keys that died before an answer", "effect"],
  "park.released": ["parks_released", "Parked events whose prerequisite arrived", "connection"],
  "refresh.ended": ["refreshes", "Fetches of resources at their source", "resource", "outcome"],
  "destination.paused": ["destination_pauses", "Destinations paused after refused credentials"],
  "breaker.opened": ["breaker_openings", "Destinations left alone for a while after calls that failed"],
  "breaker.closed": ["breaker_closings", "Destinations that answered again after that"],
  "effect.unclaimed": ["unclaimed_alarms", "Alarms of obligations that no worker takes", "effect"],
  "operator.acted": ["operator_actions", "Audited actions of operators", "action"],
  "loop.failed": ["loop_failures", "Failed rounds of worker loops", "loop", "code"],
  "loop.recovered": ["loop_recoveries", "Worker loops that work again", "loop"],
};

/** What only the store knows, read when metrics are asked for; an operator's status fits. */
export interface StoreGauges {
  readonly receipts: Readonly<Partial<Record<Outcome, number>>>;
  readonly obligations: Readonly<Partial<Record<ObligationState, number>>>;
  readonly pausedDestinations: readonly unknown[];
  readonly pausedConnections: readonly unknown[];
  readonly oldestOwedAt: number | null;
  readonly due: readonly { readonly at: number }[];
  readonly running: number;
  readonly deadRows?: DeadRowGauges;
  readonly log?: { readonly bytes: number; readonly uncopiedBytes: number };
  readonly now: number;
}

interface DeadRowGauges {
  readonly count: number;
  readonly keptBy: readonly { readonly since: number | null; readonly transactions: number }[];
}

const secondsBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const memberBounds = [1, 2, 4, 8, 16, 32, 64, 128];

/**
 * Counts events in memory, from this process's start, and renders them as Prometheus text.
 *
 * @example
 * ```ts
 * const metrics = new Metrics();
 * metrics.emit({ kind: "park.released", connection: "stripe", eventId: "evt_1" });
 * metrics.render(); // ... counterfoil_parks_released_total{connection="stripe"} 1
 * ```
 */
export class Metrics {
  readonly #counts: ReadonlyMap<Kind, NumberSeries> = new Map(
    Object.entries(counters).map(([kind, [name, help]]) => [
      kind as Kind,
      new NumberSeries({ name: `counterfoil_${name}_total`, help, type: "counter" }),
    ]),
  );
  readonly #deliverySeconds: Histogram = histogram("delivery_seconds", "Time to answer a delivery", secondsBounds);
  readonly #commitSeconds: Histogram = histogram("commit_seconds", "Time of a group's durable commit", secondsBounds);
  readonly #members: Histogram = histogram("commit_members", "Deliveries that shared a commit", memberBounds);
  readonly #loops: NumberSeries = gauge("loop_failing", "1 while a worker loop fails");

  readonly emit: Emit = (event) => {
    this.#counts.get(event.kind)?.add(labelsOf(event));
    if (event.kind === "delivery.answered") this.#deliverySeconds.observe(event.ms / 1_000);
    if (event.kind === "group.committed") {
      this.#commitSeconds.observe(event.ms / 1_000);
      this.#members.observe(event.members);
    }
    if (event.kind === "loop.failed" || event.kind === "loop.recovered") {
      this.#loops.set({ loop: event.loop }, event.kind === "loop.failed" ? 1 : 0);
    }
  };

  /** The text, format 0.0.4; with the store's gauges when they are given. */
  render(store?: StoreGauges): string {
    const own = [this.#deliverySeconds, this.#commitSeconds, this.#members, ...this.#counts.values(), this.#loops];
    const all = store ? [...own, ...storeSeries(store)] : own;
    return all.map((series) => series.text()).join("");
  }
}

function labelsOf(event: TelemetryEvent): Labels {
  const [, , ...names] = counters[event.kind];
  const fields = event as unknown as Readonly<Record<string, string | boolean | null>>;
  const labels = Object.fromEntries(names.map((name) => [name, fields[name] ?? ""]));
  // Anyone can call for a connection that does not exist; that name is not ours to keep.
  return event.kind === "delivery.refused" && event.code === "UNKNOWN_CONNECTION"
    ? { ...labels, connection: "" }
    : labels;
}

function storeSeries(store: StoreGauges): readonly NumberSeries[] {
  const receipts = gauge("receipts", "Receipts by outcome");
  for (const [outcome, count] of Object.entries(store.receipts)) receipts.set({ outcome }, count);
  const obligations = gauge("obligations", "Obligations by state");
  for (const [state, count] of Object.entries(store.obligations)) obligations.set({ state }, count);
  const oldest = gauge("oldest_owed_seconds", "Age of the oldest obligation that is still owed");
  oldest.set({}, store.oldestOwedAt === null ? 0 : Math.max(0, store.now - store.oldestOwedAt) / 1_000);
  const paused = gauge("paused_destinations", "Destinations that wait for an operator");
  paused.set({}, store.pausedDestinations.length);
  const connections = gauge("paused_connections", "Connections whose events wait for an operator");
  connections.set({}, store.pausedConnections.length);
  const due = gauge("oldest_due_seconds", "How long the oldest event or obligation that a worker should take is due");
  due.set({}, Math.max(0, ...store.due.map(({ at }) => store.now - at)) / 1_000);
  const running = gauge("workers_running", "Workers that told of themselves lately");
  running.set({}, store.running);
  return [receipts, obligations, oldest, paused, connections, due, running, ...roomSeries(store)];
}

/** What takes room although it is over; an engine has the one or the other. */
function roomSeries({ deadRows, log, now }: StoreGauges): readonly NumberSeries[] {
  const numbers: NumberSeries[] = [];
  const number = (name: string, help: string, value: number): void => {
    const series = gauge(name, help);
    series.set({}, value);
    numbers.push(series);
  };
  if (deadRows) {
    const sinces = deadRows.keptBy.flatMap(({ since }) => since ?? []);
    const seconds = Math.max(0, ...sinces.map((since) => now - since)) / 1_000;
    const transactions = Math.max(0, ...deadRows.keptBy.map((holder) => holder.transactions));
    number("dead_rows", "Dead rows that no vacuum has removed, by the server's estimate", deadRows.count);
    number("snapshot_held_seconds", "How long the oldest state that somebody holds keeps dead rows", seconds);
    number("snapshot_held_transactions", "Transactions that wrote since the oldest state that is held", transactions);
  }
  if (log) {
    number("log_bytes", "Size of the write-ahead log in use", log.bytes);
    number("log_uncopied_bytes", "How much of the log is not in the database's file yet", log.uncopiedBytes);
  }
  return numbers;
}

function gauge(name: string, help: string): NumberSeries {
  return new NumberSeries({ name: `counterfoil_${name}`, help, type: "gauge" });
}

function histogram(name: string, help: string, bounds: readonly number[]): Histogram {
  return new Histogram({ name: `counterfoil_${name}`, help, bounds });
}
