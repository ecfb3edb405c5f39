/**
 * Shares one durable commit among the members that wait in the same turn of the event loop.
 *
 * Members with the same key never share a group: the later one waits and meets what the earlier left.
 * The queue is bounded, so that overload is refused at once instead of waited out. How a group is
 * committed, and what becomes of each member when it cannot be, is the caller's.
 */
import { CounterfoilError } from "../domain/errors.ts";

/** What became of a member: its answer, its error, or a place at the head of the next group. */
export type Fate<Answer> =
  | { readonly kind: "answered"; readonly answer: Answer }
  | { readonly kind: "failed"; readonly error: unknown }
  | { readonly kind: "deferred" };

export interface GroupCommitOptions<Member, Answer> {
  /** Commits a group and gives the fate of each member, in order. */
  readonly commit: (members: readonly Member[]) => Promise<readonly Fate<Answer>[]>;
  readonly keyOf: (member: Member) => string;
  readonly membersMax: number;
  /** Members that may wait, running ones included, before new ones are refused. */
  readonly waitingMax: number;
  /** Groups that may run at once. */
  readonly groupsMax: number;
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
}

export class GroupCommit<Member, Answer> {
  readonly #options: GroupCommitOptions<Member, Answer>;
  readonly #running = new Set<string>();
  #queue: Waiting<Member, Answer>[] = [];
  #groups = 0;
  #scheduled = false;
  #watched = false;
  #idlers: (() => void)[] = [];

  constructor(options: GroupCommitOptions<Member, Answer>) {
    this.#options = options;
  }

  /** Members waiting or running. */
  get waiting(): number {
    return this.#queue.length + this.#running.size;
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
      this.#queue.push({ member, key: this.#options.keyOf(member), sinceMs: this.#options.now(), resolve, reject });
      this.#schedule();
      this.#watch();
    });
  }

  /** Resolves when nobody is waiting or running any more. */
  async idle(): Promise<void> {
    while (this.waiting > 0) await new Promise<void>((resolve) => void this.#idlers.push(resolve));
  }

  #schedule(): void {
    if (this.#scheduled || this.#queue.length === 0 || this.#groups >= this.#options.groupsMax) return;
    this.#scheduled = true;
    // After the turn's I/O, so that everything that arrived in it is in one group.
    setImmediate(() => {
      this.#scheduled = false;
      void this.#runGroup();
    });
  }

  async #runGroup(): Promise<void> {
    this.#refuseOverdue();
    const group = this.#take();
    if (group.length === 0) return this.#wakeIdlers();
    this.#groups += 1;
    for (const { key } of group) this.#running.add(key);
    this.#schedule();
    const fates = await this.#fatesOf(group);
    for (const { key } of group) this.#running.delete(key);
    this.#groups -= 1;
    this.#settle(group, fates);
    this.#schedule();
  }

  async #fatesOf(group: readonly Waiting<Member, Answer>[]): Promise<readonly Fate<Answer>[]> {
    try {
      return await this.#options.commit(group.map(({ member }) => member));
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

  /** The oldest members whose keys are neither running nor taken in this group. */
  #take(): Waiting<Member, Answer>[] {
    const group: Waiting<Member, Answer>[] = [];
    const rest: Waiting<Member, Answer>[] = [];
    const keys = new Set<string>();
    for (const waiting of this.#queue) {
      const free = group.length < this.#options.membersMax && !keys.has(waiting.key) && !this.#running.has(waiting.key);
      (free ? group : rest).push(waiting);
      keys.add(waiting.key);
    }
    this.#queue = rest;
    return group;
  }

  #settle(group: readonly Waiting<Member, Answer>[], fates: readonly Fate<Answer>[]): void {
    const deferred: Waiting<Member, Answer>[] = [];
    for (const [index, waiting] of group.entries()) {
      const fate = fates[index] ?? { kind: "deferred" };
      if (fate.kind === "answered") waiting.resolve(fate.answer);
      else if (fate.kind === "failed") waiting.reject(fate.error);
      else deferred.push(waiting);
    }
    if (deferred.length > 0) this.#queue = [...deferred, ...this.#queue];
    this.#wakeIdlers();
  }

  #wakeIdlers(): void {
    if (this.waiting > 0) return;
    const idlers = this.#idlers;
    this.#idlers = [];
    for (const wake of idlers) wake();
  }
}
