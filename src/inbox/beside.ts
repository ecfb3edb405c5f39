/**
 * Runs the handlers of a group beside each other, as if one after the other.
 *
 * Where a statement is a round trip, a group whose handlers wait for each other's answers spends most of its time
 * waiting. A handler that has sent as many statements as its runs have taken so far has most likely sent its last:
 * the next one begins. Where it sends one more after all the store tells so, and the group runs again.
 */
import type { Handler } from "../domain/handler.ts";
import type { ClaimedReceipt, StoreTx } from "../store/store.ts";
import type { Arrival, Reading } from "./arrival.ts";
import { lineOf } from "./order.ts";
import type { HandlerRun } from "./run-handler.ts";

/** The most statements that a run of a handler has sent so far. */
const statementsOf = new WeakMap<Handler, number>();

export class Beside {
  readonly #tx: StoreTx;
  #running: Promise<void>[] = [];
  #hasFailed = false;

  constructor(tx: StoreTx) {
    this.#tx = tx;
  }

  /**
   * Begins a run and resolves once the next may begin; with `false`, having begun nothing, where runs go one after
   * the other. Rejects where an earlier one has failed.
   */
  async begin(handler: Handler, body: (tx: StoreTx) => Promise<void>): Promise<boolean> {
    if (this.#hasFailed) await this.ended();
    const strand = this.#tx.strand();
    if (strand === undefined) return false;
    const running = strand.run(body);
    this.#running.push(running);
    const known = statementsOf.get(handler) ?? Infinity;
    const ended = running
      .catch(() => (this.#hasFailed = true))
      .then(() => void statementsOf.set(handler, Math.max(strand.sent, statementsOf.get(handler) ?? 0)));
    await Promise.race([ended, strand.until(known)]);
    return true;
  }

  /** Resolves once all that was begun has ended; rejects with the first failure. */
  async ended(): Promise<void> {
    const results = await Promise.allSettled(this.#running);
    this.#running = [];
    for (const result of results) if (result.status === "rejected") throw result.reason;
  }
}

/** The run of an event that is new, stands in no line, and that nothing but its handler decides. */
export function runBeside(arrival: Arrival, claim: ClaimedReceipt | undefined): HandlerRun | undefined {
  const { reading, broke, later, draft } = arrival;
  if (claim?.kind !== "fresh" || reading.kind === "decided") return undefined;
  if (broke || claim.paused || later) return undefined;
  return lineOf(draft, reading) === null ? runOf(arrival, reading, claim.id) : undefined;
}

/** What runs for an event under its receipt. */
export function runOf(
  { handlerMs }: Arrival,
  { event, handler }: Extract<Reading, { readonly kind: "runnable" }>,
  receiptId: number,
): HandlerRun {
  return { event, handler, receiptId, force: false, withinMs: handlerMs };
}
