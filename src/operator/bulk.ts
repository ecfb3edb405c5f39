/**
 * One action on many things: each is an action of its own, audited and refused by itself, under the
 * fence or version that was read, so that nothing is acted on twice and nobody's decision is overrun.
 * It may be stopped and said again: what was acted on matches no longer, or says that nothing is to do.
 */
import { hasCode } from "../domain/errors.ts";
import type { Instant } from "../domain/instant.ts";
import type { Obligation, ObligationState } from "../domain/obligation.ts";
import type { Outcome } from "../domain/outcome.ts";
import type { Receipt } from "../domain/receipt.ts";
import { actOnObligation, type ObligationVerb } from "./act-on-obligation.ts";
import type { Acted, Acting } from "./acting.ts";
import { apply, reprocess } from "./apply.ts";
import { cancel } from "./cancel.ts";
import { dropRefresh } from "./drop-refresh.ts";
import { lookup } from "./lookup.ts";
import { retry } from "./retry.ts";

/** Which obligations: all of these must fit. Without a state, those that are stuck. */
export interface ManyObligations {
  readonly state?: ObligationState | undefined;
  readonly tenant?: string | undefined;
  readonly effect?: string | undefined;
  readonly connection?: string | undefined;
  /** Start of the operation key. */
  readonly keyPrefix?: string | undefined;
  /** Owed at this instant or later. */
  readonly since?: Instant | undefined;
}

/** Which events: all of these must fit. Without an outcome, those that are held. */
export interface ManyReceipts {
  readonly outcome?: Outcome | undefined;
  readonly connection?: string | undefined;
  readonly type?: string | undefined;
  /** Received at this instant or later. */
  readonly since?: Instant | undefined;
}

/** Which refreshes: all of these must fit. */
export interface ManyRefreshes {
  readonly kind: string;
  readonly connection?: string | undefined;
}

interface BulkOptions {
  /** Count, and change nothing. */
  readonly dryRun?: boolean | undefined;
  /** Why, for the audit of each. */
  readonly why?: string | undefined;
}

/** What is done to many, and to which. */
export type BulkAction = BulkOptions &
  (
    | { readonly action: "retry" | "lookup"; readonly where: ManyObligations }
    | { readonly action: "cancel"; readonly where: ManyObligations; readonly reason: string }
    | { readonly action: "apply" | "reprocess"; readonly where: ManyReceipts }
    | { readonly action: "drop"; readonly where: ManyRefreshes }
  );

/** What came of it. */
export interface BulkResult {
  /** How many fit. */
  readonly matched: number;
  readonly changed: number;
  /** Those with which there was nothing to do. */
  readonly unchanged: number;
  /** Those that the action does not fit, or that changed meanwhile. */
  readonly refused: number;
  /** The first refusals, each of which says what to do instead. */
  readonly refusals: readonly string[];
}

const pageRows = 200;
const refusalsMax = 20;
const refusalCodes = ["NOT_ALLOWED", "CHANGED", "NOT_FOUND", "BYTES_EXPIRED"] as const;

/** Acts on all that fit, the newest first, or counts them. */
export async function bulk(acting: Acting, request: BulkAction): Promise<BulkResult> {
  const { dryRun = false } = request;
  const tally = { matched: 0, changed: 0, unchanged: 0, refused: 0, refusals: [] as string[] };
  for await (const act of steps(acting, request)) {
    tally.matched += 1;
    if (dryRun) continue;
    try {
      tally[(await act()).changed ? "changed" : "unchanged"] += 1;
    } catch (error) {
      if (!hasCode(error, ...refusalCodes)) throw error;
      tally.refused += 1;
      if (tally.refusals.length < refusalsMax) tally.refusals.push(error.message);
    }
  }
  return tally;
}

type Step = () => Promise<Acted>;

function steps(acting: Acting, request: BulkAction): AsyncGenerator<Step, void> {
  const { why } = request;
  switch (request.action) {
    case "retry":
      return obligationSteps(acting, request.where, { verb: retry, why });
    case "lookup":
      return obligationSteps(acting, request.where, { verb: lookup(acting.runtime.limits), why });
    case "cancel": {
      const words = why === undefined ? request.reason : `${request.reason} (${why})`;
      return obligationSteps(acting, request.where, { verb: cancel(request.reason), why: words });
    }
    case "apply":
    case "reprocess":
      return receiptSteps(acting, request.where, { act: request.action === "apply" ? apply : reprocess, why });
    case "drop":
      return refreshSteps(acting, request.where, why);
    default:
      throw new TypeError(`Cannot act on many: ${String(request satisfies never)} is no action for many`);
  }
}

async function* obligationSteps(
  acting: Acting,
  { state = "stuck", tenant, effect, keyPrefix, connection, since = 0 }: ManyObligations,
  { verb, why }: { readonly verb: ObligationVerb; readonly why: string | undefined },
): AsyncGenerator<Step, void> {
  const { reader } = acting.runtime.store;
  const page = (before: number | undefined): Promise<readonly Obligation[]> =>
    reader.obligations({ state, tenant, effect, keyPrefix }, { limit: pageRows, before });
  for await (const one of newestFirst(page, (found) => found.createdAt >= since)) {
    if (connection !== undefined && one.connection !== connection) continue;
    const { operationKey, fence } = one;
    yield () => actOnObligation(acting, { tenant: one.tenant, operationKey, fence, why }, verb);
  }
}

async function* receiptSteps(
  acting: Acting,
  { outcome = "held", connection, type, since = 0 }: ManyReceipts,
  { act, why }: { readonly act: typeof apply; readonly why: string | undefined },
): AsyncGenerator<Step, void> {
  const { reader } = acting.runtime.store;
  const page = (before: number | undefined): Promise<readonly Receipt[]> =>
    reader.receipts({ outcome, connection }, { limit: pageRows, before });
  for await (const one of newestFirst(page, (found) => found.receivedAt >= since)) {
    if (type !== undefined && one.type !== type) continue;
    yield () => act(acting, { receiptId: one.id, version: one.version, why });
  }
}

async function* refreshSteps(
  acting: Acting,
  { kind, connection }: ManyRefreshes,
  why: string | undefined,
): AsyncGenerator<Step, void> {
  const { reader } = acting.runtime.store;
  for (let after: string | undefined; ;) {
    const page = await reader.refreshes({ connection }, { limit: pageRows, after });
    for (const one of page) if (one.kind === kind) yield () => dropRefresh(acting, one, why);
    if (page.length < pageRows) return;
    after = page.at(-1)?.cursor;
  }
}

/**
 * Goes through pages of descending ids, which is the order of their times, to the last that is young enough.
 *
 * @yields Each row that is.
 */
async function* newestFirst<Row extends { readonly id: number }>(
  page: (before: number | undefined) => Promise<readonly Row[]>,
  isYoung: (row: Row) => boolean,
): AsyncGenerator<Row, void> {
  for (let before: number | undefined; ;) {
    const rows = await page(before);
    yield* rows.filter(isYoung);
    const last = rows.at(-1);
    if (last === undefined || rows.length < pageRows || !isYoung(last)) return;
    before = last.id;
  }
}
