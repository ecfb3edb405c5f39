/**
 * The frame of every action on a receipt. The version is the compare-and-set key: every decision raises
 * it, so that a second click with the version of the first, or another operator's, is refused as CHANGED.
 */
import type { Decision } from "../domain/outcome.ts";
import type { Receipt } from "../domain/receipt.ts";
import { reapply } from "../inbox/reapply.ts";
import { auditTarget } from "../store/audit-target.ts";
import type { ReceiptDetail } from "../store/reader.ts";
import type { StoreTx } from "../store/store.ts";
import { type Acted, type Acting, tell } from "./acting.ts";
import { changed, notAllowed, notFound } from "./refusal.ts";

/** Names a receipt, and what the operator saw and thinks. */
export interface ReceiptAction {
  readonly receiptId: number;
  /** The version that was seen; without it the action takes the receipt as it is now. */
  readonly version?: number | undefined;
  /** Why, for the audit. */
  readonly why?: string | undefined;
}

/** A receipt as the action found it, and how to refuse it. */
export interface ReceiptFacts {
  readonly detail: ReceiptDetail;
  readonly receipt: Receipt;
  readonly refuse: (why: string) => Error;
  /** For an action that has to be told of a race only when it writes. */
  readonly stale: () => Error;
}

/** Reads the receipt; throws NOT_FOUND, or CHANGED when it is not the version that was seen. */
export async function lookAt(
  { runtime }: Acting,
  { receiptId, version }: ReceiptAction,
  action: string,
): Promise<ReceiptFacts> {
  const thing = `receipt ${receiptId}`;
  const detail = await runtime.store.reader.receipt(receiptId);
  if (detail === undefined) throw notFound(thing, "no receipt has this number; list the receipts");
  const stale = (): Error => changed(action, thing);
  const { receipt } = detail;
  if (version !== undefined && receipt.version !== version) throw stale();
  return { detail, receipt, refuse: (why) => notAllowed(action, thing, why), stale };
}

/** Runs the event's handler now, with its audit row in the same transaction; rejects with CHANGED or BYTES_EXPIRED. */
export async function runAgain(
  acting: Acting,
  { receipt }: ReceiptFacts,
  { action, why, force }: { readonly action: string; readonly why: string | undefined; readonly force: boolean },
): Promise<Acted> {
  const decision = await reapply(acting, receipt.id, {
    version: receipt.version,
    force,
    by: "operator",
    also: (tx, before, after) => auditReceipt(acting, tx, { action, why, before, after }),
  });
  tell(acting, action, auditTarget("receipt", receipt.id));
  return { changed: true, says: saysOf(decision) };
}

export async function auditReceipt(
  { who }: Acting,
  tx: StoreTx,
  entry: {
    readonly action: string;
    readonly why: string | undefined;
    readonly before: Receipt;
    readonly after: Decision;
  },
): Promise<void> {
  const { action, why = null, before, after } = entry;
  await tx.audit({
    who,
    action,
    target: auditTarget("receipt", before.id),
    why,
    before: audited(before),
    after: audited(after),
  });
}

function audited({ outcome, reason }: Pick<Decision, "outcome" | "reason">): string {
  return JSON.stringify({ outcome, reason });
}

function saysOf({ outcome, reason }: Decision): string {
  return `It is ${outcome} now${reason === null ? "" : `: ${reason}`}`;
}
