/**
 * Commits a group of arrivals: receipts, business changes and obligations of each together, before
 * any of them is answered.
 *
 * Each member keeps its own fate. A member whose work is undone (it was refused, parked, held, or
 * failed) leaves nothing but its receipt. A member that ends or breaks the transaction, or makes
 * COMMIT fail, sends every member through a run of its own, where it answers for itself alone.
 */
import { CounterfoilError, doubtfulTroubles, hasCode, storeTroubles } from "../domain/errors.ts";
import type { Decision } from "../domain/outcome.ts";
import type { Receipt } from "../domain/receipt.ts";
import { sameContent } from "../parse/same-content.ts";
import type { ClaimedReceipt, ReceiptDraft, Redelivery, SettledReceipt, StoreTx } from "../store/store.ts";
import type { Fate } from "../work/group-commit.ts";
import type { Runtime } from "../work/runtime.ts";
import { transact } from "../work/transact.ts";
import type { Signals } from "../work/wake.ts";
import type { Arrival, Received } from "./arrival.ts";
import { handlerError, heldBy, type Ran, runHandler, type Surroundings } from "./run-handler.ts";
import { place, standsAsClaimed } from "./schedule.ts";

type Fates = readonly Fate<Received>[];

export async function commitArrivals(arrivals: readonly Arrival[], runtime: Runtime): Promise<Fates> {
  const startedMs = runtime.clock.monotonicMs();
  try {
    const fates = await transact(runtime, (tx, signals) => new Group(tx, arrivals, { runtime, signals }).run());
    runtime.emit({ kind: "group.committed", members: arrivals.length, ms: runtime.clock.monotonicMs() - startedMs });
    return fates;
  } catch (error) {
    if (hasCode(error, ...storeTroubles) && !hasCode(error, ...doubtfulTroubles)) throw error;
    if (arrivals.length > 1) return commitEachAlone(arrivals, runtime, error);
    return [await placeBrokenAlone(arrivals[0] as Arrival, runtime, error)];
  }
}

async function commitEachAlone(arrivals: readonly Arrival[], runtime: Runtime, error: unknown): Promise<Fates> {
  runtime.emit({
    kind: "group.split",
    members: arrivals.length,
    code: error instanceof CounterfoilError ? error.code : "INTERNAL",
  });
  const fates: Fate<Received>[] = [];
  for (const arrival of arrivals) {
    try {
      fates.push(...(await commitArrivals([arrival], runtime)));
    } catch (alone) {
      fates.push({ kind: "failed", error: alone });
      // Not even a receipt could be kept: it is the store, and the rest need not try.
      if (hasCode(alone, ...storeTroubles)) break;
    }
  }
  const last = fates.at(-1);
  return arrivals.map((_, index) => fates[index] ?? last ?? { kind: "deferred" });
}

/** The handler broke the transaction itself: its policy is carried out in a transaction that does not run it. */
async function placeBrokenAlone(arrival: Arrival, runtime: Runtime, error: unknown): Promise<Fate<Received>> {
  if (
    arrival.reading.kind === "decided" ||
    !hasCode(error, "TRANSACTION_BROKEN", "COMMIT_REFUSED", ...doubtfulTroubles)
  ) {
    throw error;
  }
  const failure = handlerError(error, arrival.reading.event);
  if (arrival.policy !== "hold") return { kind: "failed", error: failure };
  const decision = heldBy(runtime, arrival.draft, failure);
  const [fate] = await transact(runtime, (tx, signals) =>
    new Group(tx, [{ ...arrival, reading: { kind: "decided", decision } }], { runtime, signals }).run(),
  );
  return fate ?? { kind: "failed", error: failure };
}

/** One arrival in a transaction that somebody else commits. Rejects where nothing of it may be kept. */
export async function placeArrival(tx: StoreTx, arrival: Arrival, surroundings: Surroundings): Promise<Received> {
  const [fate] = await new Group(tx, [arrival], surroundings).run();
  if (fate?.kind === "answered") return fate.answer;
  throw fate?.kind === "failed" ? fate.error : new Error("Bug: a group of one has put its member off");
}

/** One group inside its transaction. */
class Group {
  readonly #tx: StoreTx;
  readonly #arrivals: readonly Arrival[];
  readonly #runtime: Runtime;
  readonly #signals: Signals;
  readonly #settled: SettledReceipt[] = [];
  readonly #discarded: number[] = [];
  readonly #redelivered: Redelivery[] = [];

  constructor(tx: StoreTx, arrivals: readonly Arrival[], { runtime, signals }: Surroundings) {
    this.#tx = tx;
    this.#arrivals = arrivals;
    this.#runtime = runtime;
    this.#signals = signals;
  }

  async run(): Promise<Fates> {
    const claims = await this.#tx.claimReceipts(this.#arrivals.map(({ draft }) => draft));
    const startedMs = this.#runtime.clock.monotonicMs();
    const fates: Fate<Received>[] = [];
    for (const [index, arrival] of this.#arrivals.entries()) {
      const claim = claims[index] as ClaimedReceipt;
      const late = index > 0 && this.#runtime.clock.monotonicMs() - startedMs > this.#runtime.limits.groupMs;
      fates.push(late ? this.#defer(claim) : await this.#decide(arrival, claim));
    }
    if (this.#settled.length > 0) await this.#tx.settleReceipts(this.#settled);
    if (this.#discarded.length > 0) await this.#tx.discardReceipts(this.#discarded);
    if (this.#redelivered.length > 0) await this.#tx.recordRedeliveries(this.#redelivered);
    return fates;
  }

  /** The group has run long enough: this member goes into the next one, leaving nothing here. */
  #defer(claim: ClaimedReceipt): Fate<Received> {
    if (claim.kind !== "known") this.#discarded.push(claim.id);
    return { kind: "deferred" };
  }

  async #decide(arrival: Arrival, claim: ClaimedReceipt): Promise<Fate<Received>> {
    switch (claim.kind) {
      case "known":
        return this.#redeliver(arrival, claim.receipt);
      case "replayed":
        // The copy that came first left nothing: this one is no replay of anything that is kept.
        if (this.#discarded.includes(claim.original.id)) return this.#defer(claim);
        return this.#keep(arrival, claim.id, {
          outcome: "suspect",
          reason: `same content as event ${claim.original.eventId}`,
        });
      case "fresh": {
        const { reading } = arrival;
        if (reading.kind === "decided") return this.#keep(arrival, claim.id, reading.decision);
        const run = { event: reading.event, handler: reading.handler, receiptId: claim.id, force: false };
        return this.#place(
          arrival,
          claim.id,
          await runHandler(this.#tx, run, { runtime: this.#runtime, signals: this.#signals }),
        );
      }
      default:
        throw new Error(`Bug: no such claim ${String(claim satisfies never)}`);
    }
  }

  async #place(arrival: Arrival, id: number, ran: Ran): Promise<Fate<Received>> {
    if (ran.kind === "decided") return this.#keep(arrival, id, ran.decision);
    const error = handlerError(ran.error, { id: arrival.draft.eventId, type: arrival.draft.type });
    if (arrival.policy === "hold") return this.#keep(arrival, id, heldBy(this.#runtime, arrival.draft, error));
    this.#discarded.push(id);
    return { kind: "failed", error };
  }

  async #keep(arrival: Arrival, id: number, decision: Decision): Promise<Fate<Received>> {
    const { draft, reading } = arrival;
    if (!standsAsClaimed(decision, draft.bytesKeptMs)) {
      const placing = {
        now: this.#tx.now,
        limits: this.#runtime.limits,
        random: this.#runtime.random,
        bytesKeptMs: draft.bytesKeptMs,
        rank: reading.kind === "runnable" ? reading.rank : null,
      };
      const settled = place(
        { id, version: 1, tries: 0, deadlineAt: null, receivedAt: this.#tx.now },
        decision,
        placing,
      );
      // A parked event is written at once: a later member of this group may be what it waits for.
      if (settled.waitsFor) await this.#tx.settleReceipts([settled]);
      else this.#settled.push(settled);
    }
    return answered({
      eventId: draft.eventId,
      outcome: decision.outcome,
      reason: decision.reason,
      duplicate: false,
      mismatch: false,
    });
  }

  #redeliver({ draft }: Arrival, receipt: Receipt): Fate<Received> {
    const mismatch = differs(draft, receipt);
    this.#redelivered.push({
      receiptId: receipt.id,
      mismatch: mismatch ? { digest: draft.digest, payload: draft.payload } : null,
    });
    return answered({
      eventId: receipt.eventId,
      outcome: receipt.outcome,
      reason: receipt.reason,
      duplicate: true,
      mismatch,
    });
  }
}

function answered(answer: Received): Fate<Received> {
  return { kind: "answered", answer };
}

/** A digest names its rule: one made by another rule is compared by that rule, so that a changed preset does not look like changed content. */
function differs(draft: ReceiptDraft, known: Receipt): boolean {
  return draft.digest !== known.digest && sameContent(known.digest, draft.payload.bytes) === false;
}
