import type { Instant, Stamp } from "../domain/instant.ts";
import type { Limits } from "../domain/limits.ts";
import type { Payload } from "../domain/receipt.ts";
import type { Counts, ObligationDetail, Page, ReceiptDetail, SeenWorker, SnapshotHolder } from "../store/reader.ts";
import type { Runtime } from "../work/runtime.ts";
import { type KeyStanding, keyStanding } from "./key-standing.ts";
import { type NextStep, nextOfObligation, nextOfReceipt } from "./next-step.ts";
import { bytesExpired, notFound } from "./refusal.ts";

/** An obligation with all that is known of it, how its key stands, and what happens next. */
export interface ObligationReport extends ObligationDetail {
  readonly key: KeyStanding;
  readonly next: NextStep;
}

/** A receipt with all that is known of its event, and what happens next. */
export interface ReceiptReport extends ReceiptDetail {
  readonly next: NextStep;
}

/** Counts, and whether anybody works off what is due. */
export interface Status extends Counts {
  /** Workers seen within two lease times, each of which tells of itself in one. */
  readonly running: number;
  /** Effects with something due that no running worker takes. */
  readonly untaken: readonly string[];
  /** Kinds of resources with a refresh due that this configuration does not register. */
  readonly unregistered: readonly string[];
  /** Who keeps dead rows for so long that it is no ordinary transaction. */
  readonly heldSnapshots: readonly SnapshotHolder[];
}

/** What holds an old state for a minute is no ordinary transaction; nor what, at a fast worker's pace, has held it for one. */
const heldMs = 60_000;
const heldTransactions = 100_000;

/** Rows of one page, unless a call says otherwise, and at most. */
const pageDefault = 50;
const pageMax = 500;

export async function statusOf({ store, limits, resources }: Runtime): Promise<Status> {
  const counts = await store.reader.counts();
  const running = counts.workers.filter((worker) => isRunning(worker, { now: counts.now, limits }));
  const taken = new Set(running.flatMap(({ effects }) => effects));
  const untaken = counts.due.flatMap(({ effect }) => (effect === null || taken.has(effect) ? [] : [effect]));
  const unregistered = counts.refreshes.due.flatMap(({ kind }) => (resources.has(kind) ? [] : [kind]));
  return { ...counts, running: running.length, untaken, unregistered, heldSnapshots: heldLong(counts) };
}

/** A worker that was killed counts as running until two signs of it are missing. */
export function isRunning(
  { seenAt, stoppedAt }: SeenWorker,
  { now, limits }: { readonly now: Instant; readonly limits: Limits },
): boolean {
  return stoppedAt === null && seenAt > now - 2 * limits.leaseMs;
}

/** @internal Exported for tests. */
export function heldLong({ deadRows, now }: Pick<Counts, "deadRows" | "now">): SnapshotHolder[] {
  return (deadRows?.keptBy ?? []).filter(({ since, transactions }) =>
    since === null ? transactions >= heldTransactions : now - since >= heldMs,
  );
}

export async function obligationReport(
  runtime: Runtime,
  tenant: string,
  operationKey: string,
): Promise<ObligationReport> {
  const { reader } = runtime.store;
  const detail = await reader.obligation(tenant, operationKey);
  if (detail === undefined) {
    throw notFound(obligationName(tenant, operationKey), "no operation has this key; list the obligations");
  }
  const { obligation, lease, waitsBehind } = detail;
  const pausedDestinations = await reader.pausedDestinations();
  const key = keyStanding(obligation, runtime, presentStamp(runtime));
  const canLookUp = runtime.effects.get(obligation.effect)?.lookup !== undefined;
  const paused = pausedDestinations.some(({ destination }) => destination === obligation.destination);
  return { ...detail, key, next: nextOfObligation({ obligation, key, canLookUp, lease, paused, waitsBehind }) };
}

export async function receiptReport({ store, clock }: Runtime, receiptId: number): Promise<ReceiptReport> {
  const detail = await store.reader.receipt(receiptId);
  if (detail === undefined) throw noReceipt(receiptId);
  const pausedConnections = await store.reader.pausedConnections();
  const paused = pausedConnections.some(({ connection }) => connection === detail.receipt.connection);
  return { ...detail, next: nextOfReceipt(detail.receipt, { now: clock.wallMs(), paused }) };
}

export async function payloadOf({ store }: Runtime, receiptId: number): Promise<Payload> {
  const payload = await store.reader.payload(receiptId);
  if (payload !== undefined) return payload;
  if ((await store.reader.receipt(receiptId)) === undefined) throw noReceipt(receiptId);
  throw bytesExpired("show the bytes of", `receipt ${receiptId}`);
}

/** A page within its bounds. */
export function boundedPage({ before, limit }: Partial<Page>): Page {
  return { before, limit: boundedLimit(limit) };
}

/** The rows of a page within their bounds. */
export function boundedLimit(limit: number = pageDefault): number {
  if (Number.isSafeInteger(limit) && limit >= 1 && limit <= pageMax) return limit;
  throw new RangeError(`Cannot list ${limit} rows: a page has 1 to ${pageMax}`);
}

export function obligationName(tenant: string, operationKey: string): string {
  return `obligation "${operationKey}" of ${tenant}`;
}

export function noReceipt(receiptId: number): Error {
  return notFound(`receipt ${receiptId}`, "no receipt has this number; list the receipts");
}

/** For what is shown only: decisions read the store's own clock, inside their transaction. */
function presentStamp({ clock }: Runtime): Stamp {
  return { wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs(), bootId: clock.bootId };
}
