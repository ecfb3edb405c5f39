/**
 * Takes deliveries from their bytes to their answer:
 *
 *   open (verify, inflate, parse, identify) -> tenant, handler -> one shared transaction -> answer
 *
 * Only a verified delivery gets past the first arrow; nothing about an unverified one is kept but a
 * bounded ring of safe facts.
 */
import { errorSummary } from "../domain/error-summary.ts";
import { CounterfoilError } from "../domain/errors.ts";
import type { StoreTx } from "../store/store.ts";
import { explainRefusal, type Refused } from "../verify/verdict.ts";
import type { Delivery } from "../verify/verify.ts";
import { GroupCommit } from "../work/group-commit.ts";
import type { Runtime } from "../work/runtime.ts";
import type { Signals } from "../work/wake.ts";
import {
  type Arrival,
  type Delivered,
  type FailurePolicy,
  keyOf,
  type Readable,
  type Received,
  type ReceivedItem,
} from "./arrival.ts";
import { commitArrivals, placeArrival } from "./commit-arrivals.ts";
import type { Connection } from "./connection.ts";
import type { Hold } from "./inflate.ts";
import { openDelivery, type Opened } from "./open-delivery.ts";
import { arrivalOf } from "./read-event.ts";
import { RefusalRing } from "./refusal-ring.ts";
import { takeItems } from "./take-items.ts";

/** The caller of a library holds its bytes itself; one body is bounded all the same. */
function unbounded(): void {}

export class Inbox {
  readonly #runtime: Runtime;
  readonly #ready: () => Promise<void>;
  readonly #group: GroupCommit<Arrival, Received>;
  readonly #refusals: RefusalRing;

  /** `ready` resolves once the store is open; it is asked before each delivery. */
  constructor({ runtime }: { readonly runtime: Runtime }, ready: () => Promise<void>) {
    const { limits, store } = runtime;
    this.#runtime = runtime;
    this.#ready = ready;
    this.#refusals = new RefusalRing(runtime, ready);
    this.#group = new GroupCommit({
      commit: (arrivals, run) => commitArrivals(arrivals, runtime, run),
      keyOf,
      membersMax: limits.groupMax,
      waitingMax: limits.waitingMax,
      queueMs: limits.queueMs,
      now: () => runtime.clock.monotonicMs(),
      timer: (delayMs, fire) => runtime.clock.timer(delayMs, fire),
      groupsMax: store.capabilities.concurrentWriters ? 2 : 1,
      aloneMax: store.capabilities.concurrentWriters ? 2 : 1,
    });
  }

  /**
   * Receives what came over HTTP. Resolves after the commit of its event; of a batch after those of its
   * items. Rejects with a coded error when nothing was kept. `hold` charges what an encoded body inflates to.
   */
  async deliver(connection: Connection, delivery: Delivery, hold: Hold): Promise<Delivered> {
    const opened = await this.#open(connection, delivery, hold);
    if (opened.kind === "event") {
      return { kind: "event", received: await this.take(connection, opened.readable, connection.failing) };
    }
    return { kind: "batch", items: await this.#takeItems(connection, opened, connection.failing) };
  }

  /** Receives one event for a caller, who hears of a handler that failed: nothing is kept then. */
  async receive(connection: Connection, delivery: Delivery): Promise<Received> {
    return this.take(connection, await this.#openEvent(connection, delivery), "throw");
  }

  /** Receives one delivery for a caller, of one event or of a batch. */
  async receiveBatch(connection: Connection, delivery: Delivery): Promise<readonly ReceivedItem[]> {
    const opened = await this.#open(connection, delivery, unbounded);
    if (opened.kind === "batch") return this.#takeItems(connection, opened, "throw");
    return takeItems([opened.readable], { groupMax: 1, take: (item) => this.take(connection, item, "throw") });
  }

  /** The rest of the way, for a delivery that was verified and read, here or in another thread of this process. */
  async take(
    connection: Connection,
    readable: Readable,
    policy: FailurePolicy = connection.failing,
  ): Promise<Received> {
    const startedMs = this.#runtime.clock.monotonicMs();
    let arrival: Arrival | undefined;
    try {
      arrival = arrivalOf(connection, readable, policy);
      await this.#ready();
      const received = await this.#group.submit(arrival);
      this.#tell(arrival, received, startedMs);
      return received;
    } catch (error) {
      this.#tellFailure(connection, arrival, error);
      throw error;
    }
  }

  /**
   * Receives one delivery in a transaction that somebody else commits, which is not heard of here: only
   * its failure is told. A handler that fails leaves nothing.
   */
  async receiveWithin(
    connection: Connection,
    delivery: Delivery,
    within: (work: (tx: StoreTx, signals: Signals) => Promise<Received>) => Promise<Received>,
  ): Promise<Received> {
    const readable = await this.#openEvent(connection, delivery);
    let arrival: Arrival | undefined;
    try {
      const found = arrivalOf(connection, readable, "throw");
      arrival = found;
      await this.#ready();
      return await within((tx, signals) => placeArrival(tx, found, { runtime: this.#runtime, signals }));
    } catch (error) {
      this.#tellFailure(connection, arrival, error);
      throw error;
    }
  }

  /** Keeps safe facts of a delivery that could not be verified, and tells of it; gives the error to answer with. */
  refuse(connection: Pick<Connection, "id">, refused: Refused, at: number): CounterfoilError {
    const { cause, facts } = refused;
    this.#refusals.add({ at, connection: connection.id, cause, facts: JSON.stringify(facts) });
    this.#runtime.emit({ kind: "delivery.refused", connection: connection.id, code: "SIGNATURE_REFUSED", cause });
    return new CounterfoilError("SIGNATURE_REFUSED", explainRefusal(refused));
  }

  /** Resolves when no delivery is waiting any more and the refusals seen so far are written. */
  async idle(): Promise<void> {
    await this.#group.idle();
    await this.#refusals.flush();
  }

  #takeItems(
    connection: Connection,
    { items }: Extract<Opened, { readonly kind: "batch" }>,
    policy: FailurePolicy,
  ): Promise<readonly ReceivedItem[]> {
    for (const item of items) if (item instanceof CounterfoilError) this.#tellFailure(connection, undefined, item);
    const { groupMax } = this.#runtime.limits;
    return takeItems(items, { groupMax, take: (item) => this.take(connection, item, policy) });
  }

  async #openEvent(connection: Connection, delivery: Delivery): Promise<Readable> {
    const opened = await this.#open(connection, delivery, unbounded);
    if (opened.kind === "event") return opened.readable;
    throw new CounterfoilError(
      "NOT_ALLOWED",
      `Cannot receive the delivery to "${connection.id}" as one event: it is a batch; call app.receiveBatch`,
    );
  }

  async #open(connection: Connection, delivery: Delivery, hold: Hold): Promise<Opened> {
    let opened: Opened | Refused;
    try {
      opened = await openDelivery(connection, delivery, { hold, itemsMax: this.#runtime.limits.batchMax });
    } catch (error) {
      this.#tellFailure(connection, undefined, error);
      throw error;
    }
    if (opened.kind === "refused") throw this.refuse(connection, opened, delivery.arrivedAtMs);
    return opened;
  }

  #tellFailure({ id }: Connection, arrival: Arrival | undefined, error: unknown): void {
    const code = error instanceof CounterfoilError ? error.code : "INTERNAL";
    if (arrival !== undefined) {
      const { eventId } = arrival.draft;
      this.#runtime.emit({ kind: "delivery.failed", connection: id, eventId, code, summary: errorSummary(error) });
    } else {
      this.#runtime.emit({ kind: "delivery.refused", connection: id, code, cause: null });
    }
  }

  #tell({ draft }: Arrival, { outcome, duplicate, mismatch }: Received, startedMs: number): void {
    const ms = this.#runtime.clock.monotonicMs() - startedMs;
    const { connection, account, eventId, type } = draft;
    this.#runtime.emit({
      kind: "delivery.answered",
      connection,
      account,
      eventId,
      type,
      outcome,
      duplicate,
      mismatch,
      ms,
    });
  }
}
