/**
 * Runs one piece of work again and again: when it is poked, and by a timer in any case, so that a lost
 * poke costs time and nothing else. Whatever the work throws is told once, when the loop falls ill, and
 * once more when it is well again; in between it tries on with backoff. It never stops by itself.
 */
import { backoffMs } from "../domain/backoff.ts";
import { errorSummary } from "../domain/error-summary.ts";
import { CounterfoilError, hasCode, storeTroubles } from "../domain/errors.ts";
import type { Runtime } from "../work/runtime.ts";

export interface LoopOptions {
  readonly name: string;
  readonly runtime: Pick<Runtime, "clock" | "limits" | "random" | "emit">;
  /** Longest time between two runs, give or take the jitter. */
  readonly everyMs: number;
  /** Does what there is to do; gives whether there may be more at once. `byTimer` is false where only a poke asked. */
  readonly run: (byTimer: boolean) => Promise<boolean>;
}

export class Loop {
  readonly #options: LoopOptions;
  #on = false;
  #poked = false;
  #failures = 0;
  #cancel: () => void = () => undefined;
  #running: Promise<boolean> | undefined;
  #tickedAtMs: number;
  /** When the timer's next run is due. Pokes leave it where it is, or a loop poked often would never look. */
  #dueAtMs: number;

  constructor(options: LoopOptions) {
    this.#options = options;
    this.#tickedAtMs = options.runtime.clock.monotonicMs();
    this.#dueAtMs = this.#tickedAtMs;
  }

  get name(): string {
    return this.#options.name;
  }

  /** Milliseconds since the last run ended, or since the start. */
  get lastTickMs(): number {
    return this.#options.runtime.clock.monotonicMs() - this.#tickedAtMs;
  }

  start(): void {
    if (this.#on) return;
    this.#on = true;
    this.#tickedAtMs = this.#options.runtime.clock.monotonicMs();
    this.#soon(true);
  }

  /** Asks for a run soon. An ill loop keeps to its backoff. */
  poke(): void {
    if (!this.#on || this.#poked || this.#failures > 0) return;
    this.#poked = true;
    if (!this.#running) this.#soon(false);
  }

  /** Runs once now, after a run under way; gives whether there may be more. */
  async tick(): Promise<boolean> {
    while (this.#running) await this.#running;
    this.#running = this.#run(true);
    return this.#running;
  }

  /** Resolves when no run is under way any more. */
  async stop(): Promise<void> {
    this.#on = false;
    this.#cancel();
    while (this.#running) await this.#running;
  }

  #soon(byTimer: boolean): void {
    this.#cancel();
    // After the turn's I/O, so that everything that happened in it is met by one run.
    const immediate = setImmediate(() => this.#go(byTimer));
    this.#cancel = () => clearImmediate(immediate);
  }

  #later(delayMs: number): void {
    this.#cancel = this.#options.runtime.clock.timer(delayMs, () => this.#go(true));
  }

  #go(byTimer: boolean): void {
    // A tick of somebody else's is under way: its end arranges the next.
    if (this.#on && !this.#running) this.#running = this.#run(byTimer);
  }

  /** Never rejects. */
  async #run(byTimer: boolean): Promise<boolean> {
    const { runtime, everyMs, run } = this.#options;
    const due = byTimer || runtime.clock.monotonicMs() >= this.#dueAtMs;
    this.#cancel();
    this.#poked = false;
    let more = false;
    try {
      more = await run(due);
      this.#well();
      this.#tickedAtMs = runtime.clock.monotonicMs();
    } catch (error) {
      this.#ill(error);
      // A store in trouble is not this loop's death: it goes on once the store does. Any other failure may be.
      if (hasCode(error, ...storeTroubles)) this.#tickedAtMs = runtime.clock.monotonicMs();
    }
    if (due) this.#dueAtMs = runtime.clock.monotonicMs() + everyMs * (0.75 + runtime.random() / 2);
    this.#running = undefined;
    if (this.#on) this.#next(more);
    return more;
  }

  #next(more: boolean): void {
    const { clock, random, limits } = this.#options.runtime;
    if (this.#failures > 0) {
      // Soon enough that leases can still be renewed once the trouble is over.
      const bounds = { firstMs: limits.pollMs, maxMs: Math.max(limits.pollMs, limits.heartbeatMs) };
      return this.#later(backoffMs(this.#failures, { ...bounds, random }));
    }
    if (more || this.#poked) return this.#soon(false);
    this.#later(Math.max(0, this.#dueAtMs - clock.monotonicMs()));
  }

  #well(): void {
    if (this.#failures > 0) this.#options.runtime.emit({ kind: "loop.recovered", loop: this.name });
    this.#failures = 0;
  }

  #ill(error: unknown): void {
    this.#failures += 1;
    if (this.#failures > 1) return;
    const code = error instanceof CounterfoilError ? error.code : "UNEXPECTED";
    this.#options.runtime.emit({ kind: "loop.failed", loop: this.name, code, summary: errorSummary(error) });
  }
}
