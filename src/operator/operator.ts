import { namePart } from "../domain/names.ts";
import type { Obligation } from "../domain/obligation.ts";
import type { Payload, Receipt } from "../domain/receipt.ts";
import type { AttentionPage, ObligationFilter, Page, ReceiptFilter } from "../store/reader.ts";
import type { ListedRefresh, RefreshPage } from "../store/refresh-pages.ts";
import type { RefusalFacts } from "../store/store.ts";
import type { Runtime } from "../work/runtime.ts";
import { actOnObligation, type ObligationAction } from "./act-on-obligation.ts";
import type { ReceiptAction } from "./act-on-receipt.ts";
import type { Acted, Acting } from "./acting.ts";
import { amend, type Amendment } from "./amend.ts";
import { apply, reprocess } from "./apply.ts";
import { type Attention, attentionPage } from "./attention.ts";
import { bulk, type BulkAction, type BulkResult } from "./bulk.ts";
import { cancel } from "./cancel.ts";
import { done, type Done } from "./done.ts";
import { lookup } from "./lookup.ts";
import {
  boundedLimit,
  boundedPage,
  type ObligationReport,
  obligationReport,
  payloadOf,
  type ReceiptReport,
  receiptReport,
  type Status,
  statusOf,
} from "./operator-reads.ts";
import { pause, type PauseAction } from "./pause.ts";
import { prune, type PruneAction, type PruneCounts } from "./prune.ts";
import { refresh, type RefreshAction } from "./refresh.ts";
import { renewKey } from "./renew-key.ts";
import { type Resolution, resolve } from "./resolve.ts";
import { restored, type Restored, type RestoredAction } from "./restored.ts";
import { type ResumeAction, resume } from "./resume.ts";
import { retry } from "./retry.ts";

/** What an operator is made of. */
export type OperatorOptions = Acting;

/**
 * The verbs of the person who answers for what the machine cannot decide.
 *
 * Each action is one transaction that changes, and audits who, when, why, before and after. An action
 * may name what was seen (an obligation's `fence`, a receipt's `version`); if it has changed since, the
 * action throws CHANGED and does nothing, so that a double click and a second operator are safe.
 * Otherwise it throws NOT_FOUND, NOT_ALLOWED where it does not fit the state, or BYTES_EXPIRED; each
 * message says what to do instead. What is as asked already is answered with `changed: false`.
 *
 * @example
 * ```ts no-run
 * const operator = app.operator({ who: "ada" });
 * for (const item of await operator.attention()) show(item);
 * await operator.retry({ tenant: "acme", operationKey: "order-1/fulfil/v1", why: "carrier is up again" });
 * ```
 */
export class Operator {
  readonly #acting: Acting;
  readonly #runtime: Runtime;

  constructor(options: OperatorOptions) {
    const problem = namePart(options.who);
    if (problem !== undefined) {
      throw new TypeError(`Cannot act: the operator's name ${problem}; actions are audited under it`);
    }
    this.#acting = options;
    this.#runtime = options.runtime;
  }

  /** Counts by outcome and state, the oldest owed, what is paused, refusals by cause; what is due, and who takes it. */
  status(): Promise<Status> {
    return statusOf(this.#runtime);
  }

  /** What needs an operator: what is watched first, then kinds take turns, of each the oldest first. `after` is the cursor of the page's last item. */
  attention({ after, limit }: Partial<AttentionPage> = {}): Promise<readonly Attention[]> {
    return attentionPage(this.#acting, { after, limit: boundedLimit(limit) });
  }

  /** Receipts, the newest first. */
  receipts(filter: ReceiptFilter = {}, page: Partial<Page> = {}): Promise<readonly Receipt[]> {
    return this.#runtime.store.reader.receipts(filter, boundedPage(page));
  }

  /** Obligations, the newest first. */
  obligations(filter: ObligationFilter = {}, page: Partial<Page> = {}): Promise<readonly Obligation[]> {
    return this.#runtime.store.reader.obligations(filter, boundedPage(page));
  }

  /** Refreshes that are waiting or running, or have failed for good, by resource. `after` is the cursor of the page's last row. */
  refreshes(
    filter: { readonly connection?: string | undefined } = {},
    { after, limit }: Partial<RefreshPage> = {},
  ): Promise<readonly ListedRefresh[]> {
    return this.#runtime.store.reader.refreshes(filter, { after, limit: boundedLimit(limit) });
  }

  /** Deliveries that were refused, the newest first: safe facts with a named cause. */
  refusals(page: Partial<Page> = {}): Promise<readonly RefusalFacts[]> {
    return this.#runtime.store.reader.refusals(boundedPage(page));
  }

  /** One receipt with deliveries, obligations, audit, and what happens next. Rejects with NOT_FOUND. */
  receipt(receiptId: number): Promise<ReceiptReport> {
    return receiptReport(this.#runtime, receiptId);
  }

  /** One obligation with request, attempts, key, audit, and what happens next. Rejects with NOT_FOUND. */
  obligation(tenant: string, operationKey: string): Promise<ObligationReport> {
    return obligationReport(this.#runtime, tenant, operationKey);
  }

  /** The stored bytes of an event, as they were signed. Rejects with NOT_FOUND or BYTES_EXPIRED. */
  payload(receiptId: number): Promise<Payload> {
    return payloadOf(this.#runtime, receiptId);
  }

  /** Makes a waiting or stuck obligation due now, where a repeat cannot be a second effect; a failed hook runs again. */
  retry(action: ObligationAction): Promise<Acted> {
    return actOnObligation(this.#acting, action, retry);
  }

  /** Asks the provider now whether the operation took effect. */
  lookup(action: ObligationAction): Promise<Acted> {
    return actOnObligation(this.#acting, action, lookup(this.#runtime.limits));
  }

  /** Takes the operator's word, with evidence, that the operation took effect; `answer` is what `settled` reads. */
  async done(action: ObligationAction & Done): Promise<Acted> {
    const { evidence, why } = action;
    const words = why === undefined ? evidence : `${evidence} (${why})`;
    return actOnObligation(this.#acting, { ...action, why: words }, done(action, this.#runtime.limits));
  }

  /** Gives an obligation up. A call that runs is not stopped; what it learns is kept on its attempt. */
  async cancel(action: ObligationAction & { readonly reason: string }): Promise<Acted> {
    const { reason, why } = action;
    return actOnObligation(
      this.#acting,
      { ...action, why: why === undefined ? reason : `${reason} (${why})` },
      cancel(reason),
    );
  }

  /** Sends again under a new key: after a lookup said absent, or when the operator confirms that nothing took effect. */
  renewKey(action: ObligationAction & { readonly confirm?: boolean }): Promise<Acted> {
    return actOnObligation(this.#acting, action, renewKey({ confirm: action.confirm ?? false }));
  }

  /** Replaces a wrong request under the same operation key, where nothing can have reached the provider or a lookup said absent. */
  async amend(action: ObligationAction & Amendment): Promise<Acted> {
    return actOnObligation(this.#acting, action, amend(action, this.#runtime.limits));
  }

  /** Acts on all that fit, each audited and refused by itself, or counts them. */
  bulk(action: BulkAction): Promise<BulkResult> {
    return bulk(this.#acting, action);
  }

  /** Keeps a destination from being called, or events of a connection from being applied, until it is resumed. */
  pause(action: PauseAction): Promise<Acted> {
    return pause(this.#acting, action);
  }

  /** Lets a paused destination be called again, or events of a paused connection be applied again. */
  resume(action: ResumeAction): Promise<Acted> {
    return resume(this.#acting, action);
  }

  /** Runs the handler of an event that waits: held, parked, suspect, unmapped or quarantined. */
  apply(action: ReceiptAction): Promise<Acted> {
    return apply(this.#acting, action);
  }

  /** Asks for a resource's state at its source; once, however often it is asked for. */
  refresh(request: RefreshAction): Promise<Acted> {
    return refresh(this.#acting, request);
  }

  /** Closes what the machine cannot decide: keep what is there, take this event's content, or acknowledge its mismatches. */
  resolve(action: ReceiptAction & { readonly choice: Resolution }): Promise<Acted> {
    return resolve(this.#acting, action, action.choice);
  }

  /** Runs the handler of any event whose bytes remain, through the same dedupe and guards as a delivery. */
  reprocess(action: ReceiptAction): Promise<Acted> {
    return reprocess(this.#acting, action);
  }

  /**
   * After a restore from a backup or a lossy failover: whatever of that state was not done may have been
   * sent since, and only a lookup or the operator decides. Before the first worker is started.
   */
  restored(action: RestoredAction): Promise<Restored> {
    return restored(this.#acting, action);
  }

  /** Removes what retention says is old, in small transactions, or counts it. Workers do the same by and by. */
  prune(action: PruneAction = {}): Promise<PruneCounts> {
    return prune(this.#acting, action);
  }
}
