import { errorSummary } from "../domain/error-summary.ts";
import type { Emit, TelemetryEvent } from "../domain/telemetry.ts";

/**
 * One `Emit` that tells several subscribers, in order; those of a set also when they are added later.
 *
 * Events are told in the middle of the work they describe. A subscriber that throws, or an async one
 * that rejects, must not undo that work, keep the event from the others or end the process, so its first
 * failure becomes a process warning and the rest of its failures are dropped.
 *
 * @example
 * ```ts
 * const metrics = new Metrics();
 * const emit = fanOut([jsonLogger(), metrics.emit]);
 * ```
 */
export function fanOut(subscribers: Iterable<Emit>): Emit {
  const warned = new WeakSet<Emit>();
  const failed = (emit: Emit, event: TelemetryEvent, error: unknown): void => {
    if (!warned.has(emit)) warn(event, error);
    warned.add(emit);
  };
  return (event) => {
    for (const emit of subscribers) {
      try {
        const told: unknown = emit(event);
        if (isThenable(told)) told.then(undefined, (error: unknown) => failed(emit, event, error));
      } catch (error) {
        failed(emit, event, error);
      }
    }
  };
}

/** An async function passes for one that gives nothing. */
function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

function warn({ kind }: TelemetryEvent, error: unknown): void {
  process.emitWarning(`A telemetry subscriber failed on ${kind}: ${errorSummary(error)}`, "CounterfoilWarning");
}
