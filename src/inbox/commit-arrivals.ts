/**
 * Commits a group of arrivals: receipts, business changes and obligations of each together, before
 * any of them is answered.
 *
 * Each member keeps its own fate. A member whose work is undone (it was refused, parked, held, or
 * failed) leaves nothing but its receipt. A copy meets what the first of its event has left. A member that
 * ends or breaks the transaction, or makes COMMIT fail, sends every member through a run of its own, where
 * it answers for itself alone.
 *
 * Where others write at the same time, a group waits only shortly for what they hold. Whose key, row or name
 * stays locked is put off and waits longer by itself, and the rest commits without it:
 *
 *   group -> a key stays locked -> careful group: each claim behind a savepoint of its own
 *         -> a handler meets a lock -> undone behind its savepoint, and put off
 *         -> a key is owed already, with other input -> careful group
 *   alone -> STORE_BUSY, 503
 */
import { CounterfoilError, doubtfulTroubles, hasCode, storeTroubles } from "../domain/errors.ts";
import { behindReason, type Decision, pausedReason } from "../domain/outcome.ts";
import type { OrderKey, Receipt } from "../domain/receipt.ts";
import { sameContent } from "../parse/same-content.ts";
import type { ClaimedReceipt, ObligationDraft, Redelivery, SettledReceipt, StoreTx } from "../store/store.ts";
import type { Fate, GroupRun } from "../work/group-commit.ts";
import type { Runtime } from "../work/runtime.ts";
import { transact } from "../work/transact.ts";
import { oweAll, OwesLater } from "../work/unit.ts";
import { type Arrival, keyOf, type Received } from "./arrival.ts";
import { Beside, runBeside, runOf } from "./beside.ts";
import { isBehind, lineOf } from "./order.ts";
import { handlerError, type HandlerRun, heldBy, runHandler, type Surroundings } from "./run-handler.ts";
import { place, standsAsClaimed } from "./schedule.ts";

type Fates = readonly Fate<Received>[];

export async function commitArrivals(
  arrivals: readonly Arrival[],
  runtime: Runtime,
  { alone, careful = false }: GroupRun & { readonly careful?: boolean },
): Promise<Fates> {
  const startedMs = runtime.clock.monotonicMs();
  const { lockMs, groupLockMs } = runtime.limits;
  let isBegun = false;
  try {
    const fates = await transact(
      runtime,
      (tx, signals) => {
        isBegun = true;
        return new Group(tx, arrivals, { runtime, signals, careful, puttingOff: !alone }).run();
      },
      {
        waitMs: lockMs,
        statementMs: Math.min(...arrivals.map(({ handlerMs }) => handlerMs)),
        hopeful: arrivals.length > 1 && !careful,
        ...(!alone && { lockMs: Math.min(groupLockMs, lockMs) }),
      },
    );
    runtime.emit({ kind: "group.committed", members: arrivals.length, ms: runtime.clock.monotonicMs() - startedMs });
    tellPutOff(runtime, fates);
    return fates;
  } catch (error) {
    const isOneMembers = error instanceof OwesLater || hasCode(error, "OPERATION_CONFLICT");
    if (isOneMembers && !careful) return commitArrivals(arrivals, runtime, { alone, careful: true });
    // Who lost all its races by itself has had its runs.
    const isRaced = hasCode(error, "STORE_BUSY") && hasCode(error.cause, "RACE_LOST");
    const mayRunAlone = !alone && (arrivals.length > 1 || !isRaced);
    if (hasCode(error, "STORE_BUSY") && isBegun && mayRunAlone) {
      if (arrivals.length > 1 && !careful && !isRaced) {
        return commitArrivals(arrivals, runtime, { alone, careful: true });
      }
      const fates = arrivals.map(() => ({ kind: "alone" }) as const);
      tellPutOff(runtime, fates);
      return fates;
    }
    if (hasCode(error, ...storeTroubles) && !hasCode(error, ...doubtfulTroubles)) throw error;
    if (arrivals.length > 1) return commitEachAlone(arrivals, runtime, error);
    return [await placeBrokenAlone(arrivals[0] as Arrival, runtime, error)];
  }
}

function tellPutOff(runtime: Runtime, fates: Fates): void {
  const members = fates.filter(({ kind }) => kind === "alone").length;
  if (members > 0) runtime.emit({ kind: "group.split", members, code: "STORE_BUSY" });
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
      fates.push(...(await commitArrivals([arrival], runtime, { alone: false })));
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
  const broke = heldBy(runtime, arrival.draft, failure);
  const [fate] = await transact(runtime, (tx, signals) =>
    new Group(tx, [{ ...arrival, broke }], { runtime, signals }).run(),
  );
  return fate ?? { kind: "failed", error: failure };
}

/** One arrival in a transaction that somebody else commits. Rejects where nothing of it may be kept. */
export async function placeArrival(tx: StoreTx, arrival: Arrival, surroundings: Surroundings): Promise<Received> {
  const [fate] = await new Group(tx, [arrival], surroundings).run();
  if (fate?.kind === "answered") return fate.answer;
  throw fate?.kind === "failed" ? fate.error : new Error("Bug: a group of one has put its member off");
}

interface GroupOptions extends Surroundings {
  /** Claims and redeliveries each behind a savepoint, so that one that meets a lock is known and undone. */
  readonly careful?: boolean;
  /** A member that meets a lock runs by itself afterwards; else it fails the whole. */
  readonly puttingOff?: boolean;
}

/** How much shorter the next lock is waited for once a member was put off, and at least. */
const impatience = { divisor: 4, lockMsMin: 10 };

/** What becomes of an event, and the part of the transaction that writes it, where that is not the whole. */
interface Keeping {
  readonly decision: Decision;
  readonly tx?: StoreTx;
}

/** What a group knows of an event, for the copies of it that are in the same group. */
type Known = Pick<Receipt, "id" | "eventId" | "outcome" | "reason" | "digest">;

/** One group inside its transaction. */
class Group {
  readonly #tx: StoreTx;
  readonly #arrivals: readonly Arrival[];
  readonly #options: GroupOptions;
  readonly #runtime: Runtime;
  readonly #known = new Map<string, Known>();
  readonly #settled: SettledReceipt[] = [];
  readonly #discarded: number[] = [];
  readonly #redelivered: Redelivery[] = [];
  readonly #owed: ObligationDraft[] = [];
  #lockMs: number;

  constructor(tx: StoreTx, arrivals: readonly Arrival[], options: GroupOptions) {
    this.#tx = tx;
    this.#arrivals = arrivals;
    this.#options = options;
    this.#runtime = options.runtime;
    this.#lockMs = options.runtime.limits.groupLockMs;
  }

  async run(): Promise<Fates> {
    const firsts = new Map(this.#arrivals.toReversed().map((arrival) => [keyOf(arrival), arrival]));
    const claims = await this.#claim([...firsts.values()].toReversed());
    await this.#lockLines(claims);
    const { clock, limits } = this.#runtime;
    let startedMs = clock.monotonicMs();
    const fates: Fate<Received>[] = [];
    const beside = new Beside(this.#tx);
    for (const [index, arrival] of this.#arrivals.entries()) {
      const sinceMs = clock.monotonicMs();
      const isFirst = firsts.get(keyOf(arrival)) === arrival;
      const isLate = index > 0 && sinceMs - startedMs > limits.groupMs;
      const claim = claims.get(arrival);
      const run = isFirst && !isLate ? runBeside(arrival, claim) : undefined;
      const apply = async (tx: StoreTx): Promise<void> => {
        if (run) fates[index] = await this.#apply(arrival, run, tx);
      };
      if (run && (await beside.begin(run.handler, apply))) continue;
      await beside.ended();
      const fate = isFirst ? await this.#fateOf(arrival, claim, isLate) : await this.#meetFirst(arrival);
      fates[index] = fate;
      // Who waited in vain has taken nothing of the others' time.
      if (fate.kind === "alone") startedMs += clock.monotonicMs() - sinceMs;
    }
    await beside.ended();
    await oweAll(this.#tx, this.#owed, this.#options.signals);
    if (this.#settled.length > 0) await this.#tx.settleReceipts(this.#settled);
    if (this.#discarded.length > 0) await this.#tx.discardReceipts(this.#discarded);
    if (this.#redelivered.length > 0) await this.#tx.recordRedeliveries(this.#redelivered);
    return fates;
  }

  /**
   * Where a statement is a round trip, the members of a group owe together, at its end. A key that is taken then
   * fails the group, and each runs again behind a savepoint of its own, where it answers for its keys alone.
   */
  #surroundings(): Surroundings {
    const { careful, runtime } = this.#options;
    if (careful || this.#arrivals.length === 1 || !runtime.store.capabilities.concurrentWriters) return this.#options;
    return { ...this.#options, oweLater: (drafts) => void this.#owed.push(...drafts) };
  }

  /** Claims the firsts of each event; what stays locked is left out. */
  async #claim(firsts: readonly Arrival[]): Promise<Map<Arrival, ClaimedReceipt>> {
    const claims = new Map<Arrival, ClaimedReceipt>();
    // In one order everywhere, so that two careful groups wait for each other, never both at once.
    const parts = this.#options.careful
      ? firsts.toSorted((left, right) => (keyOf(left) < keyOf(right) ? -1 : 1)).map((arrival) => [arrival])
      : [firsts];
    for (const part of parts) {
      const claim = () => this.#tx.claimReceipts(part.map(({ draft }) => draft));
      const claimed = this.#options.careful ? await this.#unlessLocked(() => this.#tx.attempt(claim)) : await claim();
      claimed?.forEach((each, index) => claims.set(part[index] as Arrival, each));
    }
    return claims;
  }

  /** Gives nothing where a lock stayed with somebody else, whose work a savepoint has undone; those after it wait shorter. */
  async #unlessLocked<T>(run: () => Promise<T>): Promise<T | undefined> {
    try {
      return await run();
    } catch (error) {
      if (!this.#options.puttingOff || !hasCode(error, "STORE_BUSY")) throw error;
      this.#lockMs = Math.max(impatience.lockMsMin, this.#lockMs / impatience.divisor);
      this.#tx.boundLocks(this.#lockMs);
      return undefined;
    }
  }

  /** A copy of an event that is in the same group: it meets what the first has left, or comes again after it. */
  async #meetFirst(arrival: Arrival): Promise<Fate<Received>> {
    const known = this.#known.get(keyOf(arrival));
    return known ? this.#redeliver(arrival, known) : { kind: "deferred" };
  }

  /** After the claims, whose waiting must not keep a line; before anything that other groups may wait for. */
  async #lockLines(claims: Map<Arrival, ClaimedReceipt>): Promise<void> {
    const standing = [...claims].flatMap(([arrival, claim]) => {
      const line = claim.kind === "fresh" ? lineOf(arrival.draft, arrival.reading) : null;
      return line && claim.kind === "fresh" ? [{ arrival, id: claim.id, line }] : [];
    });
    if (standing.length === 0) return;
    if (!this.#options.careful) return this.#tx.lockOrders(standing.map(({ line }) => line));
    for (const { arrival, id, line } of standing.toSorted((left, right) => byKey(left.line, right.line))) {
      const lock = async (): Promise<true> => this.#tx.lockOrders([line]).then(() => true);
      if (await this.#unlessLocked(() => this.#tx.attempt(lock))) continue;
      claims.delete(arrival);
      this.#discarded.push(id);
    }
  }

  /** The group has run long enough: this member goes into the next one, leaving nothing here. */
  #defer(claim: ClaimedReceipt): Fate<Received> {
    if (claim.kind !== "known") this.#discarded.push(claim.id);
    return { kind: "deferred" };
  }

  async #fateOf(arrival: Arrival, claim: ClaimedReceipt | undefined, isLate: boolean): Promise<Fate<Received>> {
    if (claim === undefined) return { kind: "alone" };
    return isLate ? this.#defer(claim) : this.#decide(arrival, claim);
  }

  async #decide(arrival: Arrival, claim: ClaimedReceipt): Promise<Fate<Received>> {
    switch (claim.kind) {
      case "known":
        return this.#redeliver(arrival, claim.receipt);
      case "replayed":
        // The copy that came first left nothing: this one is no replay of anything that is kept.
        if (this.#discarded.includes(claim.original.id)) return this.#defer(claim);
        return this.#keep(arrival, claim.id, {
          decision: { outcome: "suspect", reason: `same content as event ${claim.original.eventId}` },
        });
      case "fresh": {
        const { reading } = arrival;
        if (reading.kind === "decided") return this.#keep(arrival, claim.id, reading);
        const line = lineOf(arrival.draft, reading);
        if (line !== null) {
          const look = () => isBehind(this.#tx, { id: claim.id, rank: reading.rank }, line);
          const behind = await this.#unlessLocked(() => this.#tx.attempt(look));
          if (behind === undefined) return this.#putOff(claim);
          if (behind) return this.#keep(arrival, claim.id, { decision: queued(behindReason) });
        }
        if (arrival.broke) return this.#keep(arrival, claim.id, { decision: arrival.broke });
        if (claim.paused) return this.#keep(arrival, claim.id, { decision: queued(pausedReason) });
        if (arrival.later) return this.#keep(arrival, claim.id, { decision: queued(null) });
        const run = runOf(arrival, reading, claim.id);
        return (await this.#unlessLocked(() => this.#apply(arrival, run, this.#tx))) ?? this.#putOff(claim);
      }
      default:
        throw new Error(`Bug: no such claim ${String(claim satisfies never)}`);
    }
  }

  /** A lock that it needs stays with somebody else: it runs by itself, leaving nothing here. */
  #putOff({ id }: { readonly id: number }): Fate<Received> {
    this.#discarded.push(id);
    return { kind: "alone" };
  }

  async #apply(arrival: Arrival, run: HandlerRun, tx: StoreTx): Promise<Fate<Received>> {
    const ran = await runHandler(tx, run, this.#surroundings());
    const { receiptId: id } = run;
    if (ran.kind === "decided") return this.#keep(arrival, id, { ...ran, tx });
    const error = handlerError(ran.error, { id: arrival.draft.eventId, type: arrival.draft.type });
    if (arrival.policy === "hold") {
      return this.#keep(arrival, id, { decision: heldBy(this.#runtime, arrival.draft, error), tx });
    }
    this.#discarded.push(id);
    return { kind: "failed", error };
  }

  async #keep(arrival: Arrival, id: number, { decision, tx = this.#tx }: Keeping): Promise<Fate<Received>> {
    const { draft, reading } = arrival;
    if (!standsAsClaimed(decision, draft.bytesKeptMs)) {
      const placing = {
        now: this.#tx.now,
        limits: this.#runtime.limits,
        random: this.#runtime.random,
        bytesKeptMs: draft.bytesKeptMs,
        rank: reading.kind === "runnable" ? reading.rank : null,
        orderKey: reading.kind === "runnable" ? reading.orderKey : null,
      };
      const settled = place(
        { id, version: 1, tries: 0, starts: 0, deadlineAt: null, receivedAt: this.#tx.now },
        decision,
        placing,
      );
      if (decision.outcome === "queued") this.#options.signals.arrived = true;
      // Written at once: a later member of this group may be what a parked event waits for, or stand behind it.
      if (settled.waitsFor || settled.orderKey !== null) await tx.settleReceipts([settled]);
      else this.#settled.push(settled);
    }
    const { eventId, digest } = draft;
    const { outcome, reason } = decision;
    this.#known.set(keyOf(arrival), { id, eventId, outcome, reason, digest });
    return answered({ eventId, outcome, reason, duplicate: false, mismatch: false });
  }

  async #redeliver(arrival: Arrival, known: Known): Promise<Fate<Received>> {
    const { draft } = arrival;
    const { id: receiptId, eventId, outcome, reason } = known;
    const mismatch = differs(arrival, known);
    const redelivery = { receiptId, mismatch: mismatch ? { digest: draft.digest, payload: draft.payload } : null };
    if (this.#options.careful) {
      const record = () => this.#tx.attempt(async () => this.#tx.recordRedeliveries([redelivery]));
      const isRecorded = await this.#unlessLocked(async () => record().then(() => true));
      if (!isRecorded) return { kind: "alone" };
    } else {
      this.#redelivered.push(redelivery);
    }
    this.#known.set(keyOf(arrival), known);
    return answered({ eventId, outcome, reason, duplicate: true, mismatch });
  }
}

function queued(reason: string | null): Decision {
  return { outcome: "queued", reason };
}

function byKey(left: OrderKey, right: OrderKey): number {
  return left.orderKey < right.orderKey ? -1 : Number(left.orderKey > right.orderKey);
}

function answered(answer: Received): Fate<Received> {
  return { kind: "answered", answer };
}

/** A digest names its rule: one made by another rule is compared by that rule, so that a changed preset does not look like changed content. */
function differs({ draft, content }: Arrival, known: Known): boolean {
  return draft.digest !== known.digest && sameContent(known.digest, content) === false;
}
