/**
 * Claims what is due and starts at once, carries it out, and writes how it ended.
 *
 *   turn: one transaction { write the ends so far; claim into what is free } -> start the claims
 *         attempts end -> another turn
 *
 * Ends and claims share a transaction, and attempts that end while one runs wait for the next: under
 * load, one durable commit carries many of both. A second turn may begin once the first has only its commit
 * to wait for; each takes no more ends than half of what may run, or there would be none for the other. A
 * slot passes from what ended to what is claimed in its place within their transaction; one that fails gives
 * it back. Ends that cannot be written are kept and written in a later turn, if need be as late evidence; the
 * store decides by the fence.
 */
import type { EffectDefinition } from "../domain/effect.ts";
import { hasCode, storeTroubles } from "../domain/errors.ts";
import { isAbandoned, isHook, type Obligation, type StoredAnswer } from "../domain/obligation.ts";
import type { Claim, Lane, StoreTx } from "../store/store.ts";
import type { Runtime } from "../work/runtime.ts";
import { transact } from "../work/transact.ts";
import { type Attempting, type Call, type Ended, releasedEnd } from "./attempt.ts";
import { Breaker } from "./breaker.ts";
import { carryOut } from "./carry-out.ts";
import { LaneWatch } from "./lane-watch.ts";
import { type HeldLease, LeaseWatch } from "./lease-watch.ts";
import { RateWatch } from "./rate-watch.ts";
import { hookDone, runHook } from "./run-hook.ts";
import { settle, type Settled, type Settling } from "./settle.ts";
import { type SharedLane, Slots } from "./slots.ts";
import { tell } from "./tell.ts";

export interface DispatcherOptions {
  /** Names this worker on the attempts it makes. */
  readonly worker: string;
  readonly call: Call;
  /** Called when another turn may have work: an attempt ended, or its slot is free again. */
  readonly wanted: () => void;
  /** Called when a turn has ended. */
  readonly turned: () => void;
}

/** A claim being carried out. */
interface Running extends Attempting {
  readonly lease: HeldLease;
}

interface Finished extends Settling {
  readonly running: Running;
}

/** A transaction of the dispatcher's: the ends it writes, and the slots that these pass on. */
interface Turn {
  readonly claims: boolean;
  /** All is written but the commit. */
  committing: boolean;
  /** One end by itself. */
  alone: boolean;
  batch: readonly Finished[];
  freed: readonly SharedLane[];
  /** What it frees at destinations that it pauses, which nobody else knows of before its commit. */
  freedLast: readonly SharedLane[];
  claimed: readonly Claim[];
}

interface Claimed {
  readonly due: readonly Lane[];
  readonly claims: readonly Claim[];
  /** Lanes that may have more due than was claimed. */
  readonly left: readonly Lane[];
}

export class Dispatcher {
  readonly leases: LeaseWatch;
  readonly #runtime: Runtime;
  readonly #options: DispatcherOptions;
  readonly #slots: Slots;
  readonly #lanes: LaneWatch;
  readonly #breaker: Breaker;
  readonly #rates: RateWatch;
  /** A turn is arranged for when a rate allows more. */
  #paced = false;
  readonly #finished: Finished[] = [];
  /** Claims being carried out, ends not yet written included. */
  #held = 0;
  readonly #turns: Set<Turn> = new Set();
  #written = 0;
  /** Each end is written alone, since a batch could not be. */
  #isolating = false;
  #claiming = true;
  /** Whether something may be due that no turn has looked for. */
  #expecting = true;
  #idle: (() => void)[] = [];

  constructor(runtime: Runtime, options: DispatcherOptions) {
    const { limits, effects } = runtime;
    this.#runtime = runtime;
    this.#options = options;
    this.leases = new LeaseWatch(runtime);
    this.#lanes = new LaneWatch(runtime);
    this.#breaker = new Breaker(runtime);
    this.#rates = new RateWatch(runtime.clock, effects);
    this.#slots = new Slots({
      ...limits,
      callsMaxAt: (destination) => this.#breaker.callsMax(destination),
      rateLeft: (lane) => this.#rates.left(lane),
      perDestination: limits.callsPerDestination,
      perLane: (effect) => effects.get(effect)?.concurrency ?? limits.callsPerDestination,
    });
  }

  /** Claims being carried out, ends not yet written included, and turns under way. */
  get running(): number {
    return this.#held + this.#turns.size;
  }

  /** Turns under way have only their commits to wait for: another may begin. */
  get committing(): boolean {
    return this.#turns.size > 0 && [...this.#turns].every(({ committing }) => committing);
  }

  /** How many ends were written so far: each may have made something due. */
  get written(): number {
    return this.#written;
  }

  /** Something may be due: the next turn looks. */
  expect(): void {
    this.#expecting = true;
  }

  /** From now on nothing is claimed; what was claimed and has not started goes back. */
  stopClaiming(): void {
    this.#claiming = false;
  }

  startClaiming(): void {
    this.#claiming = true;
    this.#expecting = true;
  }

  /** Aborts what runs: what has not been sent goes back, the rest is unknown. */
  abort(): void {
    this.#claiming = false;
    this.leases.abortAll();
  }

  /** Resolves when nothing runs or is being claimed, and every end is written. */
  async idle(): Promise<void> {
    if (this.running === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#idle.push(resolve);
    await promise;
  }

  /** Writes ends and claims; gives whether another turn has work at once. */
  async turn(): Promise<boolean> {
    if (this.#finished.length === 0) this.#isolating = false;
    const claims = this.#claiming && this.#expecting && !this.#isolating;
    if (this.#finished.length === 0 && !claims) return false;
    this.#expecting = false;
    const taken = this.leases.mark();
    const turn: Turn = { claims, committing: false, alone: false, batch: [], freed: [], freedLast: [], claimed: [] };
    this.#turns.add(turn);
    try {
      const { settled, claimed } = await transact(this.#runtime, (tx) => this.#write(tx, turn), {
        waitMs: this.#runtime.limits.lockMs,
        plansKept: true,
      });
      this.#written += settled.length;
      this.#slots.pass(turn.freedLast, []);
      for (const [index, each] of settled.entries()) this.#afterSettling(turn.batch[index], each);
      for (const claim of claimed.claims) this.#start(claim, taken);
      if (claims) this.#lanes.alarm(claimed.due);
      this.#pace(claimed.left);
      return this.#finished.length > 0 || this.#slots.hasRoom(claimed.left);
    } catch (error) {
      this.#takeBack(turn);
      this.#expecting ||= claims;
      if (!hasCode(error, ...storeTroubles)) this.#isolate(turn);
      throw error;
    } finally {
      this.#turns.delete(turn);
      this.#options.turned();
      this.#tellIdle();
    }
  }

  async #write(tx: StoreTx, turn: Turn): Promise<{ readonly settled: readonly Settled[]; readonly claimed: Claimed }> {
    this.#takeBack(turn);
    turn.alone = this.#isolating;
    turn.batch = this.#finished.splice(0, turn.alone ? 1 : Math.ceil(this.#runtime.limits.callsMax / 2));
    const settled = turn.batch.length > 0 ? await settle(tx, turn.batch, this.#runtime) : [];
    const paused = pausedBy(turn.batch, settled);
    const ended = ending(turn.batch, settled);
    turn.freed = ended.filter(({ destination }) => !paused.has(destination));
    turn.freedLast = ended.filter(({ destination }) => paused.has(destination));
    const claimed = turn.claims ? await this.#claim(tx, turn.freed) : nothing;
    turn.claimed = claimed.claims;
    this.#slots.pass(turn.freed, turn.claimed.map(laneOf));
    for (const claim of turn.claimed) this.#rates.take(laneOf(claim));
    this.#expecting ||= claimed.left.length > 0;
    turn.committing = true;
    if (this.#finished.length > 0) this.#options.wanted();
    return { settled, claimed };
  }

  /** Undoes what a transaction that was not committed had taken. */
  #takeBack(turn: Turn): void {
    this.#finished.unshift(...turn.batch);
    if (turn.committing) {
      this.#slots.passBack(turn.freed, turn.claimed.map(laneOf));
      for (const claim of turn.claimed) this.#rates.giveBack(laneOf(claim));
    }
    turn.committing = false;
    turn.batch = [];
  }

  /** Polling alone would let a rate of many small times begin one call a poll. */
  #pace(left: readonly Lane[]): void {
    const waitMs = this.#rates.waitMs(left);
    if (waitMs === undefined || this.#paced) return;
    this.#paced = true;
    this.#runtime.clock.timer(waitMs, () => {
      this.#paced = false;
      this.#options.wanted();
    });
  }

  /** An end that cannot be written must not keep others from it: each goes alone, and is left to its lease if that fails too. */
  #isolate({ alone }: Turn): void {
    const [first] = this.#finished;
    if (alone && first !== undefined) {
      this.#finished.shift();
      this.#free(first.running);
    }
    this.#isolating = true;
  }

  async #claim(tx: StoreTx, ending: readonly SharedLane[]): Promise<Claimed> {
    const { limits } = this.#runtime;
    const due = await tx.dueLanes();
    const claimable = this.#lanes.claimable(due);
    const lanes = this.#slots.share(claimable, ending);
    const { worker } = this.#options;
    const claims = lanes.length > 0 ? await tx.claim({ lanes, worker, leaseMs: limits.leaseMs }) : [];
    return { due, claims, left: claimable.filter((lane) => !isEmptied(lane, lanes, claims)) };
  }

  #start(claim: Claim, taken: ReturnType<LeaseWatch["mark"]>): void {
    const { effects, emit } = this.#runtime;
    const definition = effects.get(claim.obligation.effect) as EffectDefinition;
    const lease = this.leases.take(claim, taken);
    this.#held += 1;
    const running: Running = { claim, definition, lease, runtime: this.#runtime, call: this.#options.call };
    const { id: obligationId, effect } = claim.obligation;
    emit({ kind: "attempt.started", obligationId, effect, attempt: claim.kind, fence: claim.fence });
    if (isHook(claim.kind)) void this.#hook(running, claim.obligation, claim.answer);
    else void this.#carryOut(running).then((ended) => this.#finish(running, claim.obligation, ended));
  }

  /** Never rejects: each kind of attempt turns whatever happens into what was learned. */
  #carryOut(running: Running): Promise<Ended> {
    const { kind } = running.claim;
    if (this.#claiming) return carryOut(running);
    return Promise.resolve({ learned: { kind: "released", attempt: kind }, end: releasedEnd });
  }

  #finish(running: Running, obligation: Obligation, ended: Ended): void {
    const { claim, definition } = running;
    this.#finished.push({ claim, definition, obligation, ended, running });
    if (!isHook(claim.kind)) this.#breaker.heard(obligation.destination, ended);
    if (ended.learned.kind === "sent" && ended.learned.retryAfterMs !== undefined) {
      this.#lanes.quiet(obligation.destination, ended.learned.retryAfterMs);
    }
    this.#options.wanted();
  }

  #afterSettling(finished: Finished | undefined, settled: Settled): void {
    if (finished === undefined) return;
    const { running, obligation } = finished;
    tell(this.#runtime.emit, finished, settled);
    if (settled.moved && settled.step.keepLease) {
      void this.#hook(running, { ...obligation, ...settled.step.to }, settled.answer);
    } else {
      this.#drop(running);
    }
  }

  async #hook(running: Running, obligation: Obligation, answer: StoredAnswer | null): Promise<void> {
    const run = await runHook(running, obligation, answer);
    const { claim, definition, lease } = running;
    if (run.kind === "failed") return this.#finish(running, obligation, run.ended);
    if (run.kind === "trouble" && run.again && lease.live) {
      this.#runtime.clock.timer(this.#runtime.limits.pollMs, () => void this.#hook(running, obligation, answer));
      return;
    }
    // After any other trouble the obligation is left to its lease: the next holder runs the hook again.
    if (run.kind !== "trouble") {
      const settling = { claim, definition, obligation, ended: hookDone };
      const to = { ...obligation, state: isAbandoned(obligation.state) ? obligation.state : ("done" as const) };
      tell(this.#runtime.emit, settling, {
        step: { to, keepLease: false },
        moved: run.kind === "done",
        byEvidence: false,
      });
    }
    this.#free(running);
  }

  #free(running: Running): void {
    this.#slots.free(laneOf(running.claim));
    this.#drop(running);
  }

  /** Its slot is another's already. */
  #drop({ lease }: Running): void {
    this.leases.drop(lease);
    this.#held -= 1;
    this.#options.wanted();
    this.#tellIdle();
  }

  #tellIdle(): void {
    if (this.running > 0) return;
    const waiting = this.#idle;
    this.#idle = [];
    for (const resolve of waiting) resolve();
  }
}

const nothing: Claimed = { due: [], claims: [], left: [] };

/** Whether a lane gave less than it was asked for: then nothing more is due there. */
function isEmptied(lane: Lane, asked: readonly SharedLane[], claims: readonly Claim[]): boolean {
  const limit = asked.find((share) => isSame(share, lane))?.limit ?? 0;
  return claims.filter((claim) => isSame(laneOf(claim), lane)).length < limit;
}

/** The lane that a claim came from, whose slot it holds to its end. */
function laneOf({ obligation: { effect, destination }, kind }: Claim): Lane {
  return { effect, destination, calls: !isHook(kind) };
}

function isSame(left: Lane, right: Lane): boolean {
  return left.effect === right.effect && left.destination === right.destination && left.calls === right.calls;
}

/** How many slots of each lane the transaction frees. */
function ending(batch: readonly Finished[], settled: readonly Settled[]): readonly SharedLane[] {
  const ended = batch.filter((_, index) => !(settled[index]?.moved && settled[index].step.keepLease));
  const byLane = Map.groupBy(ended, ({ claim: { obligation, kind } }) => {
    const { effect, destination } = obligation;
    return `${effect} ${destination} ${isHook(kind) ? "hooks" : "calls"}`;
  });
  return [...byLane.values()].map((group) => ({ ...laneOf((group[0] as Finished).claim), limit: group.length }));
}

/** Where nobody is to be called any more. */
function pausedBy(batch: readonly Finished[], settled: readonly Settled[]): ReadonlySet<string> {
  const pausing = batch.filter((_, index) => settled[index]?.step.pause !== undefined);
  return new Set(pausing.map(({ claim }) => claim.obligation.destination));
}
