import { errorSummary } from "../domain/error-summary.ts";
import type { Emit } from "../domain/telemetry.ts";

/**
 * One `Emit` that tells several subscribers, in order.
 *
 * Events are told in the middle of the work they describe. A subscriber that throws must not undo that
 * work or keep the event from the others, so its first failure becomes a process warning and the rest
 * of its failures are dropped.
 *
 * @example
 * ```ts
 * const metrics = new Metrics();
 * const emit = fanOut(jsonLogger(), metrics.emit);
 * ```
 */
export function fanOut(...subscribers: readonly Emit[]): Emit {
  const guarded = subscribers.map(guard);
  return (event) => {
    for (const emit of guarded) emit(event);
  };
}

function guard(emit: Emit): Emit {
  let warned = false;
  return (event) => {
    try {
      emit(event);
    } catch (error) {
      if (warned) return;
      warned = true;
      process.emitWarning(
        `A telemetry subscriber failed on ${event.kind}: ${errorSummary(error)}`,
        "CounterfoilWarning",
      );
    }
  };
}
