/**
 * Leases held by this process, watched by its own clock.
 *
 * A lease's local end is counted from before the transaction that took or renewed it, minus a margin,
 * so that it comes before the store can give the obligation to anyone else. Work under a lease that
 * could not be renewed in time is aborted then. Nothing here decides what becomes of the obligation:
 * the fence does, when the work's end is written.
 */
import type { Clock } from "../domain/clock.ts";
import type { Claim } from "../store/store.ts";
import type { Runtime } from "../work/runtime.ts";
import { transact } from "../work/transact.ts";

/** A lease as the work under it sees it. */
export interface Lease {
  /** Aborts when the lease is lost or the worker gives up. */
  readonly signal: AbortSignal;
  /** Whether the lease can still be relied on. */
  readonly live: boolean;
  /** Time since before the claim, by the clock that says more. */
  elapsedMs(): number;
}

/** A reading of this process's clocks, taken before a transaction. */
export interface Mark {
  readonly wallMs: number;
  readonly monotonicMs: number;
}

export class HeldLease implements Lease {
  readonly claim: Claim;
  readonly #clock: Clock;
  readonly #taken: Mark;
  readonly #abort = new AbortController();
  /** The local end. */
  untilMs: number;

  constructor(claim: Claim, { taken, untilMs, clock }: { taken: Mark; untilMs: number; clock: Clock }) {
    this.claim = claim;
    this.#taken = taken;
    this.#clock = clock;
    this.untilMs = untilMs;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get live(): boolean {
    return !this.signal.aborted && this.#clock.monotonicMs() < this.untilMs;
  }

  elapsedMs(): number {
    return Math.max(this.#clock.wallMs() - this.#taken.wallMs, this.#clock.monotonicMs() - this.#taken.monotonicMs);
  }

  abort(): void {
    this.#abort.abort();
  }
}

export class LeaseWatch {
  readonly #runtime: Runtime;
  readonly #held: Set<HeldLease> = new Set();
  /** Leases are many and their ends alike: one timer, at the earliest end there was when it was set, serves all. */
  #timed = false;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** Reads the clocks; take it before the transaction that claims. */
  mark(): Mark {
    const { clock } = this.#runtime;
    return { wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() };
  }

  /** Watches the lease of a claim whose transaction began after `taken`. */
  take(claim: Claim, taken: Mark): HeldLease {
    const { clock } = this.#runtime;
    const lease = new HeldLease(claim, { taken, untilMs: this.#endAfter(taken), clock });
    this.#held.add(lease);
    this.#watch();
    return lease;
  }

  /** Ends the watch; the obligation has been moved, or is left to its lease. */
  drop(lease: HeldLease): void {
    this.#held.delete(lease);
  }

  /** Renews every lease in one transaction. What cannot be renewed is lost and aborted. */
  async renew(): Promise<void> {
    const held = [...this.#held].filter(({ signal }) => !signal.aborted);
    if (held.length === 0) return;
    const from = this.mark();
    const names = held.map(({ claim }) => ({ obligationId: claim.obligation.id, fence: claim.fence }));
    const renewed = await transact(this.#runtime, (tx) => tx.renew(names, this.#runtime.limits.leaseMs));
    for (const [index, lease] of held.entries()) {
      // One that was settled meanwhile has no lease to renew.
      if (!this.#held.has(lease)) continue;
      if (renewed[index]) lease.untilMs = this.#endAfter(from);
      else this.#lose(lease);
    }
  }

  /** Aborts all work under a lease: the worker gives up. */
  abortAll(): void {
    for (const lease of this.#held) lease.abort();
  }

  #endAfter({ monotonicMs }: Mark): number {
    const { leaseMs, leaseMarginMs } = this.#runtime.limits;
    return monotonicMs + leaseMs - leaseMarginMs;
  }

  #watch(): void {
    if (this.#timed) return;
    const live = [...this.#held].filter(({ signal }) => !signal.aborted);
    if (live.length === 0) return;
    this.#timed = true;
    const { clock } = this.#runtime;
    const earliestMs = Math.min(...live.map(({ untilMs }) => untilMs));
    clock.timer(earliestMs - clock.monotonicMs(), () => {
      this.#timed = false;
      for (const lease of this.#held) if (!lease.live) this.#lose(lease);
      this.#watch();
    });
  }

  #lose(lease: HeldLease): void {
    if (lease.signal.aborted) return;
    lease.abort();
    const { obligation, fence } = lease.claim;
    this.#runtime.emit({ kind: "lease.lost", obligationId: obligation.id, effect: obligation.effect, fence });
  }
}
