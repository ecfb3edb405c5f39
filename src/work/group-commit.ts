/**
 * Shares one durable commit among the members that wait in the same turn of the event loop.
 *
 * Members with the same key share a group, in their order, or come after it: none runs beside one. A member
 * that would hold the others up is put off and runs by itself, beside the groups, so that those who wait for
 * a lock take nobody else's place. The queue is bounded, so that overload is refused at once instead of waited
 * out. How a group is committed, and what becomes of each member when it cannot be, is the caller's.
 */
import { CounterfoilError } from "../domain/errors.ts";

/** What became of a member: its answer, its error, a place at the head of the next group, or a run by itself. */
export type Fate<Answer> =
  | { readonly kind: "answered"; readonly answer: Answer }
  | { readonly kind: "failed"; readonly error: unknown }
  | { readonly kind: "deferred" }
  | { readonly kind: "alone" };

export interface GroupRun {
  /** A member by itself, put off by a group before: nobody else waits for it. */
  readonly alone: boolean;
}

export interface GroupCommitOptions<Member, Answer> {
  /** Commits a group and gives the fate of each member, in order. */
  readonly commit: (members: readonly Member[], run: GroupRun) => Promise<readonly Fate<Answer>[]>;
  readonly keyOf: (member: Member) => string;
  readonly membersMax: number;
  /** Members that may wait, running ones included, before new ones are refused. */
  readonly waitingMax: number;
  /** Groups that may run at once. */
  readonly groupsMax: number;
  /** Members that may run by themselves at once, beside the groups. */
  readonly aloneMax: number;
  /** Longest wait for a group to begin; who waited longer is refused, since its sender has given up or will. */
  readonly queueMs: number;
  /** A monotonic reading in milliseconds. */
  readonly now: () => number;
  /** Calls `fire` once after so many milliseconds. */
  readonly timer: (delayMs: number, fire: () => void) => unknown;
}

interface Waiting<Member, Answer> {
  readonly member: Member;
  readonly key: string;
  readonly sinceMs: number;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
  alone: boolean;
}

/** What runs in one of the two ways. */
interface Lane extends GroupRun {
  readonly membersMax: number;
  readonly runsMax: number;
  runs: number;
}

export class GroupCommit<Member, Answer> {
  readonly #options: GroupCommitOptions<Member, Answer>;
  readonly #running = new Set<string>();
  readonly #lanes: readonly Lane[];
  #queue: Waiting<Member, Answer>[] = [];
  #membersRunning = 0;
  #scheduled = false;
  #watched = false;
  #idlers: (() => void)[] = [];

  constructor(options: GroupCommitOptions<Member, Answer>) {
    const { membersMax, groupsMax, aloneMax } = options;
    this.#options = options;
    this.#lanes = [
      { alone: false, membersMax, runsMax: groupsMax, runs: 0 },
      { alone: true, membersMax: 1, runsMax: aloneMax, runs: 0 },
    ];
  }

  /** Members waiting or running. */
  get waiting(): number {
    return this.#queue.length + this.#membersRunning;
  }

  /** Joins the next group. Rejects with OVERLOADED at once when too many wait. */
  submit(member: Member): Promise<Answer> {
    if (this.waiting >= this.#options.waitingMax) {
      return Promise.reject(
        new CounterfoilError(
          "OVERLOADED",
          `Cannot take the delivery: ${this.waiting} are waiting; send it again later`,
        ),
      );
    }
    return new Promise((resolve, reject) => {
      const [key, sinceMs] = [this.#options.keyOf(member), this.#options.now()];
      this.#queue.push({ member, key, sinceMs, resolve, reject, alone: false });
      this.#schedule();
      this.#watch();
    });
  }

  /** Resolves when nobody is waiting or running any more. */
  async idle(): Promise<void> {
    while (this.waiting > 0) await new Promise<void>((resolve) => void this.#idlers.push(resolve));
  }

  #schedule(): void {
    if (this.#scheduled || !this.#lanes.some((lane) => this.#hasWork(lane))) return;
    this.#scheduled = true;
    // After the turn's I/O, so that everything that arrived in it is in one group.
    setImmediate(() => {
      this.#scheduled = false;
      this.#refuseOverdue();
      for (const lane of this.#lanes) if (this.#hasWork(lane)) void this.#run(lane);
      this.#wakeIdlers();
    });
  }

  #hasWork({ alone, runs, runsMax }: Lane): boolean {
    return runs < runsMax && this.#queue.some((waiting) => waiting.alone === alone);
  }

  async #run(lane: Lane): Promise<void> {
    const group = this.#take(lane);
    if (group.length === 0) return;
    lane.runs += 1;
    this.#membersRunning += group.length;
    for (const { key } of group) this.#running.add(key);
    this.#schedule();
    const fates = await this.#fatesOf(group, lane);
    for (const { key } of group) this.#running.delete(key);
    this.#membersRunning -= group.length;
    lane.runs -= 1;
    this.#settle(group, fates);
    this.#schedule();
  }

  async #fatesOf(group: readonly Waiting<Member, Answer>[], { alone }: Lane): Promise<readonly Fate<Answer>[]> {
    try {
      return await this.#options.commit(
        group.map(({ member }) => member),
        { alone },
      );
    } catch (error) {
      return group.map(() => ({ kind: "failed", error }));
    }
  }

  /** Looks again when the oldest has waited too long: the groups that run may take longer than anybody will wait. */
  #watch(): void {
    const [oldest] = this.#queue;
    if (this.#watched || oldest === undefined) return;
    this.#watched = true;
    const { queueMs, now, timer } = this.#options;
    timer(oldest.sinceMs + queueMs + 1 - now(), () => {
      this.#watched = false;
      this.#refuseOverdue();
      this.#wakeIdlers();
      this.#watch();
    });
  }

  /** Refuses who waited too long: a lock that others hold is told to all who wait for it, not group by group. */
  #refuseOverdue(): void {
    const oldestMs = this.#options.now() - this.#options.queueMs;
    const overdue = this.#queue.filter(({ sinceMs }) => sinceMs < oldestMs);
    if (overdue.length === 0) return;
    this.#queue = this.#queue.filter(({ sinceMs }) => sinceMs >= oldestMs);
    const message = `Cannot take the delivery: it waited ${this.#options.queueMs} ms for others; send it again later`;
    for (const { reject } of overdue) reject(new CounterfoilError("OVERLOADED", message));
  }

  /** The oldest members for this lane whose keys nobody before them has, in a run or in the queue. */
  #take({ alone, membersMax }: Lane): Waiting<Member, Answer>[] {
    const group: Waiting<Member, Answer>[] = [];
    const rest: Waiting<Member, Answer>[] = [];
    const taken = new Set(this.#running);
    for (const waiting of this.#queue) {
      const isFree = waiting.alone === alone && group.length < membersMax && !taken.has(waiting.key);
      if (!isFree) taken.add(waiting.key);
      (isFree ? group : rest).push(waiting);
    }
    this.#queue = rest;
    return group;
  }

  #settle(group: readonly Waiting<Member, Answer>[], fates: readonly Fate<Answer>[]): void {
    const putOff: Waiting<Member, Answer>[] = [];
    for (const [index, waiting] of group.entries()) {
      const fate = fates[index] ?? { kind: "deferred" };
      if (fate.kind === "answered") waiting.resolve(fate.answer);
      else if (fate.kind === "failed") waiting.reject(fate.error);
      else {
        waiting.alone = fate.kind === "alone";
        putOff.push(waiting);
      }
    }
    if (putOff.length > 0) this.#queue = [...putOff, ...this.#queue];
    this.#wakeIdlers();
  }

  #wakeIdlers(): void {
    if (this.waiting > 0) return;
    const idlers = this.#idlers;
    this.#idlers = [];
    for (const wake of idlers) wake();
  }
}
