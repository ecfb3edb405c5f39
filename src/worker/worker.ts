/** The loops that carry out what is owed: started, drained and stopped together. */
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { Call } from "../outbox/attempt.ts";
import { Caller } from "../outbox/caller.ts";
import { Dispatcher } from "../outbox/dispatcher.ts";
import { Refresher } from "../outbox/refresher.ts";
import { rescue } from "../outbox/rescue.ts";
import type { Runtime } from "../work/runtime.ts";
import { Loop } from "./loop.ts";
import { Upkeep } from "./upkeep.ts";

export interface WorkerOptions {
  /** Names this worker on its attempts. Default: host, process and a random part. */
  readonly name?: string;
  /** Applies events that are due; gives whether there may be more. */
  readonly applyDue?: () => Promise<boolean>;
  /** Removes what is old; gives whether there may be more. */
  readonly retain?: () => Promise<boolean>;
  /** Tells somebody of what needs a person. */
  readonly notify?: () => Promise<boolean>;
  /** Carries out one call. Default: real HTTP. */
  readonly call?: Call;
}

/** Whether a worker's loops make progress, and how long ago each ran. */
export interface WorkerHealth {
  readonly live: boolean;
  /** Milliseconds since each loop's last run. */
  readonly lastTickMs: Readonly<Record<string, number>>;
}

/** Unused connections are closed before providers close theirs, which is after 5 s at the earliest in common servers. */
const idleMs = 4_000;

export class Worker {
  readonly #runtime: Runtime;
  readonly #call: Call | undefined;
  readonly #dispatcher: Dispatcher;
  readonly #dispatch: Loop;
  /** Has a turn while the first waits for its commit; it looks for nothing by itself. */
  readonly #second: Loop;
  readonly #heartbeat: Loop;
  readonly #refreshers: readonly Refresher[];
  /** Loops that make obligations due, or write what a source says. */
  readonly #feeders: readonly Loop[];
  /** Loops that keep the store in order. */
  readonly #chores: readonly Loop[];
  readonly #upkeep: Upkeep;
  #caller: Caller | undefined;
  #started = false;
  /** Drains under way that started the worker themselves; the last of them stops it. */
  #drains = 0;
  #stopping: Promise<void> = Promise.resolve();
  #unsubscribe: readonly (() => void)[] = [];
  #watchers: (() => void)[] = [];
  /** How often a commit was heard of that gave work. */
  #heard = 0;

  constructor(runtime: Runtime, options: WorkerOptions = {}) {
    const {
      name = `${hostname()}:${process.pid}:${randomUUID().slice(0, 8)}`,
      applyDue,
      retain,
      notify,
      call,
    } = options;
    const { pollMs, heartbeatMs } = runtime.limits;
    this.#runtime = runtime;
    this.#call = call;
    this.#dispatcher = new Dispatcher(runtime, {
      worker: name,
      call: (request, settings) => this.#transport(request, settings),
      wanted: () => this.#wanted(),
      turned: () => this.#tellWatchers(),
    });
    const loop = (kind: string, everyMs: number, run: (byTimer: boolean) => Promise<boolean>): Loop =>
      new Loop({ name: kind, runtime, everyMs, run });
    this.#dispatch = loop("dispatch", pollMs, (byTimer) => this.#turn(byTimer));
    this.#second = loop("dispatch beside", heartbeatMs, () => this.#dispatcher.turn());
    this.#heartbeat = loop("heartbeat", heartbeatMs, async () => {
      await this.#dispatcher.leases.renew();
      return false;
    });
    const rescuer = loop("rescue", pollMs, () => rescue(runtime));
    this.#refreshers = [...runtime.resources.values()].map((resource) => {
      return new Refresher(runtime, { resource, call: (request, settings) => this.#transport(request, settings) });
    });
    this.#feeders = [
      rescuer,
      ...(applyDue ? [loop("inbox", pollMs, applyDue)] : []),
      ...this.#refreshers.map((refresher) => loop(`refresh ${refresher.kind}`, pollMs, () => refresher.run())),
    ];
    this.#upkeep = new Upkeep(runtime, name);
    const chores = [loop("upkeep", heartbeatMs, () => this.#upkeep.run())];
    if (retain) chores.push(loop("retention", heartbeatMs, retain));
    if (notify) chores.push(loop("attention", heartbeatMs, notify));
    this.#chores = chores;
  }

  /** Starts the loops. */
  start(): void {
    if (this.#started) return;
    this.#started = true;
    const { store, wake } = this.#runtime;
    this.#unsubscribe = [
      wake.on("owed", () => {
        this.#heard += 1;
        this.#dispatcher.expect();
        this.#wanted();
      }),
      wake.on("arrived", () => {
        this.#heard += 1;
        for (const feeder of this.#feeders) feeder.poke();
      }),
      // Work that other processes committed; polling finds what is not told.
      store.listen?.((news) => wake.committed(news)) ?? (() => undefined),
    ];
    this.#upkeep.arrive();
    this.#dispatcher.startClaiming();
    for (const refresher of this.#refreshers) refresher.start();
    for (const each of this.#loops) each.start();
  }

  /**
   * Works off what is due and what that makes due, until nothing is or the time is up. A worker that was
   * not started stops then, and aborts calls still in flight; a started one goes on.
   */
  async drain({ graceMs }: { readonly graceMs: number }): Promise<void> {
    await this.#stopping;
    const { clock } = this.#runtime;
    const endMs = clock.monotonicMs() + graceMs;
    const ours = this.#drains > 0 || !this.#started;
    if (ours) this.#drains += 1;
    this.start();
    for (let leftMs = graceMs; leftMs > 0 && this.#started; leftMs = endMs - clock.monotonicMs()) {
      if (!(await this.#round(leftMs))) break;
    }
    if (ours) this.#drains -= 1;
    if (ours && this.#drains === 0) await this.stop({ graceMs: 0 });
  }

  /**
   * Stops: nothing more is claimed, calls in flight get the grace and are then aborted. What was not sent
   * goes back unharmed; what was is unknown, by its own end where that can still be written, else by its lease.
   */
  stop({ graceMs = this.#runtime.limits.graceMs }: { readonly graceMs?: number } = {}): Promise<void> {
    if (this.#started) {
      this.#started = false;
      this.#stopping = this.#wind(graceMs);
    }
    return this.#stopping;
  }

  /** Says whether the loops run, for a liveness probe. A loop that fails and tries on is alive. */
  health(): WorkerHealth {
    const lastTickMs = Object.fromEntries(this.#loops.map((each) => [each.name, each.lastTickMs]));
    const { leaseMs } = this.#runtime.limits;
    return { live: !this.#started || Object.values(lastTickMs).every((ageMs) => ageMs < leaseMs), lastTickMs };
  }

  async #wind(graceMs: number): Promise<void> {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#dispatcher.stopClaiming();
    for (const refresher of this.#refreshers) refresher.stop();
    // A store that does not answer must not keep the process: what it did not take is left to the leases.
    const patienceMs = 2 * this.#runtime.limits.lockMs;
    await this.#within(patienceMs, Promise.all([...this.#feeders, ...this.#chores].map((each) => each.stop())));
    await this.#within(graceMs, this.#dispatcher.idle());
    this.#dispatcher.abort();
    await this.#within(patienceMs, this.#dispatcher.idle());
    await this.#within(
      patienceMs,
      Promise.all([this.#dispatch, this.#second, this.#heartbeat].map((each) => each.stop())),
    );
    this.#caller?.close();
    this.#caller = undefined;
    await this.#within(patienceMs, this.#leave());
  }

  /** Whoever looks for running workers need not wait for this one. With a call still out, it does run. */
  async #leave(): Promise<void> {
    if (this.#dispatcher.running > 0) return;
    // A store that cannot be told learns it by the time in which this worker is not seen.
    await this.#upkeep.leave().catch(() => undefined);
  }

  get #loops(): readonly Loop[] {
    return [this.#dispatch, this.#second, this.#heartbeat, ...this.#feeders, ...this.#chores];
  }

  #turn(byTimer: boolean): Promise<boolean> {
    if (byTimer) this.#dispatcher.expect();
    return this.#dispatcher.turn();
  }

  /** One run of each loop that finds work; gives whether another may find more. */
  async #round(leftMs: number): Promise<boolean> {
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    this.#watchers.push(resolve);
    const { written } = this.#dispatcher;
    const heard = this.#heard;
    let more = false;
    for (const loop of [...this.#chores, ...this.#feeders, this.#dispatch]) more = (await loop.tick()) || more;
    // A hook may have ended, and given work, since the loop that would find it has looked.
    const isNew = more || this.#dispatcher.written > written || this.#heard > heard;
    if (more || this.#dispatcher.running === 0) return isNew;
    await this.#within(leftMs, ended);
    return true;
  }

  #wanted(): void {
    this.#dispatch.poke();
    if (this.#dispatcher.committing) this.#second.poke();
    this.#tellWatchers();
  }

  #tellWatchers(): void {
    const watchers = this.#watchers;
    this.#watchers = [];
    for (const tellIt of watchers) tellIt();
  }

  readonly #transport: Call = (request, settings) => {
    if (this.#call) return this.#call(request, settings);
    const { clock, limits } = this.#runtime;
    this.#caller ??= new Caller({ clock, limits, idleMs });
    return this.#caller.call(request, settings);
  };

  /** Waits for some work, but no longer than this. */
  async #within(ms: number, work: Promise<unknown>): Promise<void> {
    if (ms <= 0) return;
    let cancel = (): void => undefined;
    const late = new Promise<void>((resolve) => {
      cancel = this.#runtime.clock.timer(ms, resolve);
    });
    await Promise.race([work, late]);
    cancel();
  }
}
