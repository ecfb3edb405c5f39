import { errorSummary } from "../domain/error-summary.ts";
import type { Emit, TelemetryEvent } from "../domain/telemetry.ts";

/**
 * One `Emit` that tells several subscribers, in order; those of a set also when they are added later.
 *
 * Events are told in the middle of the work they describe. A subscriber that throws must not undo that
 * work or keep the event from the others, so its first failure becomes a process warning and the rest
 * of its failures are dropped.
 *
 * @example
 * ```ts
 * const metrics = new Metrics();
 * const emit = fanOut([jsonLogger(), metrics.emit]);
 * ```
 */
export function fanOut(subscribers: Iterable<Emit>): Emit {
  const warned = new WeakSet<Emit>();
  return (event) => {
    for (const emit of subscribers) {
      try {
        emit(event);
      } catch (error) {
        if (!warned.has(emit)) warn(event, error);
        warned.add(emit);
      }
    }
  };
}

function warn({ kind }: TelemetryEvent, error: unknown): void {
  process.emitWarning(`A telemetry subscriber failed on ${kind}: ${errorSummary(error)}`, "CounterfoilWarning");
}
