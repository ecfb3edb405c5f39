/**
 * Carries out the refreshes of one kind of resource: claims what is due, asks the source, and writes what it
 * said under the guard.
 *
 * What is written is ordered by the ticket that was taken when the fetch began, unless the source gives a
 * revision: a fetch that was slower than a later one finds its ticket refused and writes nothing. A source
 * that says nothing of a revision, as one does that no longer has the resource, speaks of what was kept when
 * it was asked: what an event wrote meanwhile stays, and the source is asked once more. Each kind has a loop
 * of its own, so that a source which does not answer delays no other.
 */
import { nextDueMs } from "../domain/backoff.ts";
import { errorSummary } from "../domain/error-summary.ts";
import { hasCode, storeTroubles } from "../domain/errors.ts";
import type { AnyResource, Resource, SnapshotInput } from "../domain/resource.ts";
import { type ClaimedRefresh, type RefreshClaim, type RefreshEnd, unknownRevision } from "../store/store.ts";
import { refreshed } from "../work/refreshed.ts";
import type { Runtime } from "../work/runtime.ts";
import { transact } from "../work/transact.ts";
import { runUnit } from "../work/unit.ts";
import type { Call } from "./attempt.ts";
import { type Fetched, fetchResource } from "./fetch-resource.ts";

type Outcome = "applied" | "gone" | "failed" | "superseded" | "released";

export class Refresher {
  readonly #runtime: Runtime;
  readonly #resource: AnyResource;
  readonly #call: Call;
  #stopping: AbortController = new AbortController();

  constructor(runtime: Runtime, { resource, call }: { readonly resource: AnyResource; readonly call: Call }) {
    this.#runtime = runtime;
    this.#resource = resource;
    this.#call = call;
  }

  get kind(): string {
    return this.#resource.kind;
  }

  start(): void {
    this.#stopping = new AbortController();
  }

  /** Takes back what is under way: it is due again at once. */
  stop(): void {
    this.#stopping.abort();
  }

  /** Carries out what is due; gives whether there may be more. */
  async run(): Promise<boolean> {
    const { clock, limits } = this.#runtime;
    if (this.#stopping.signal.aborted) return false;
    const { kind } = this.#resource;
    const untilMs = clock.monotonicMs() + limits.leaseMs - limits.leaseMarginMs;
    const claims = await transact(this.#runtime, (tx) =>
      tx.claimRefreshes({ kind, limit: limits.callsPerDestination, leaseMs: limits.leaseMs }),
    );
    await Promise.all(claims.map((claim) => this.#refresh(claim, () => clock.monotonicMs() < untilMs)));
    return claims.length > 0;
  }

  async #refresh(claim: ClaimedRefresh, mayStart: () => boolean): Promise<void> {
    const { fetch } = this.#resource;
    if (fetch === undefined) return;
    const { signal } = this.#stopping;
    const { tenant, connection, account, id } = claim;
    const fetched = await fetchResource({
      fetch,
      target: { tenant, connection, account, id },
      runtime: this.#runtime,
      call: this.#call,
      signal,
      mayStart,
    });
    this.#tell(claim, await this.#end(claim, fetched), fetched);
  }

  async #end(claim: ClaimedRefresh, fetched: Fetched): Promise<Outcome> {
    if (fetched.kind === "released") return this.#release(claim);
    if (fetched.kind === "failed") return this.#fail(claim, fetched);
    try {
      return await this.#write(claim, fetched);
    } catch (error) {
      if (hasCode(error, ...storeTroubles)) throw error;
      return this.#fail(claim, { reason: `its state could not be written: ${errorSummary(error)}` });
    }
  }

  async #write(
    claim: ClaimedRefresh,
    fetched: Extract<Fetched, { readonly kind: "state" | "gone" }>,
  ): Promise<Outcome> {
    const runtime = this.#runtime;
    const { tenant, connection, account } = claim;
    const scope = { tenant, connection, account, receiptId: null };
    return transact(runtime, async (tx, signals) => {
      if (!(await tx.endRefresh({ ...claim, tries: 0, dueAt: null, reason: null }))) return "superseded";
      const unit = { scope, runtime, signals, force: true, kept: claim.kept };
      const written = await runUnit(tx, unit, ({ snapshot }) =>
        snapshot(this.#resource as unknown as Resource<unknown>, inputOf(claim, fetched)),
      );
      if (fetched.kind === "gone" && written === "stale") {
        await tx.wantRefreshes([claim]);
        signals.arrived = true;
        return "superseded";
      }
      const name = refreshed(claim);
      await tx.lockNames(tenant, [name]);
      if ((await tx.arrive(tenant, name)) > 0) signals.arrived = true;
      return fetched.kind === "gone" ? "gone" : "applied";
    });
  }

  async #release(claim: RefreshClaim): Promise<Outcome> {
    await this.#close((now) => ({ ...claim, dueAt: now, reason: null }));
    return "released";
  }

  async #fail(
    claim: RefreshClaim,
    { reason, retryAfterMs }: { readonly reason: string; readonly retryAfterMs?: number | undefined },
  ): Promise<Outcome> {
    const { limits, random } = this.#runtime;
    const tries = claim.tries + 1;
    const backoff = { firstMs: limits.retryFirstMs, maxMs: limits.retryMaxMs };
    const { retryAfterMaxMs } = limits;
    const isNewest = await this.#close((now) => ({
      ...claim,
      tries,
      reason,
      dueAt:
        tries >= limits.attemptsMax
          ? null
          : nextDueMs(now, { failures: tries, backoff, random, retryAfterMs, retryAfterMaxMs }),
    }));
    return isNewest ? "failed" : "superseded";
  }

  #close(endAt: (now: number) => RefreshEnd): Promise<boolean> {
    return transact(this.#runtime, (tx) => tx.endRefresh(endAt(tx.now)));
  }

  #tell({ connection, account, kind: resource, ticket }: RefreshClaim, outcome: Outcome, fetched: Fetched): void {
    const reason = fetched.kind === "failed" ? fetched.reason : null;
    this.#runtime.emit({ kind: "refresh.ended", connection, account, resource, ticket, outcome, reason });
  }
}

/** A deletion is one at the revision that was kept: nobody tells another. */
function inputOf(
  { id, ticket }: RefreshClaim,
  fetched: Extract<Fetched, { readonly kind: "state" | "gone" }>,
): SnapshotInput<unknown> {
  if (fetched.kind === "gone") return { id, revision: unknownRevision, deleted: true };
  return { id, revision: fetched.revision ?? ticket, state: fetched.state };
}
