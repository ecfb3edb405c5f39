/**
 * Runs the handler of an event that is stored already: one that a worker took up, or that an operator chose.
 *
 * The transaction that runs it locks the receipt, and the line that the event stands in, until its commit or
 * the end of its connection. The receipt's version is the fence: whoever decides on an older one changes nothing.
 *
 * The bytes are read again from the store, so that a mended handler, mapping or preset is what decides
 * now. Signatures and times are not checked again: the receipt says that they were right.
 */
import { CounterfoilError, doubtfulTroubles, type ErrorCode, hasCode, storeTroubles } from "../domain/errors.ts";
import { behindReason, type Decision, isFinal, unmappedReason } from "../domain/outcome.ts";
import type { OrderKey, Receipt } from "../domain/receipt.ts";
import type { OpenReceipt, ReceiptDraft, StoreTx } from "../store/store.ts";
import type { Runtime } from "../work/runtime.ts";
import { transact } from "../work/transact.ts";
import type { Signals } from "../work/wake.ts";
import type { Connection } from "./connection.ts";
import type { Connections } from "./connections.ts";
import { isBehind } from "./order.ts";
import { readStored, type StoredReading } from "./read-event.ts";
import { handlerError, heldBy, isTransactionTrouble, runHandler } from "./run-handler.ts";
import { place } from "./schedule.ts";

export interface ReapplyContext {
  readonly runtime: Runtime;
  readonly connections: Connections;
}

/** Troubles of a transaction that one event's handler can be the cause of. */
export const oneEventsTroubles: readonly ErrorCode[] = ["TRANSACTION_BROKEN", "COMMIT_REFUSED", ...doubtfulTroubles];

/** Rejects with CONNECTION_UNAVAILABLE where it cannot be told now: that decides nothing about the event. */
async function findOf({ runtime, connections }: ReapplyContext, receiptId: number): Promise<Connection | undefined> {
  const detail = await runtime.store.reader.receipt(receiptId);
  return detail && (await connections.find(detail.receipt.connection));
}

export interface ReapplyOptions {
  /** The version that was seen; another one is refused with CHANGED. */
  readonly version: number;
  /** Take its snapshots also on a tie. */
  readonly force: boolean;
  readonly by: "retry" | "operator";
  /** Under which it runs; found where it is left out. */
  readonly connection?: Connection | undefined;
  /** Written in the same transaction, such as an audit entry. */
  readonly also?: (tx: StoreTx, before: Receipt, decision: Decision) => Promise<void>;
}

/**
 * Runs one stored event's handler now.
 *
 * Rejects with NOT_FOUND, CHANGED, BYTES_EXPIRED, or CONNECTION_UNAVAILABLE. A handler that fails holds the event again.
 */
export async function reapply(context: ReapplyContext, receiptId: number, options: ReapplyOptions): Promise<Decision> {
  const { runtime } = context;
  const connection = options.connection ?? (await findOf(context, receiptId));
  let decided: Decided;
  try {
    decided = await transact(runtime, async (tx, signals) => {
      const open = await lock(tx, receiptId, options.version);
      const result = await decide(tx, open, { runtime, connection, signals, force: options.force, by: options.by });
      await options.also?.(tx, open.receipt, result.decision);
      return result;
    });
  } catch (error) {
    if (!hasCode(error, ...oneEventsTroubles)) throw error;
    decided = await holdBroken(runtime, receiptId, { options: { ...options, connection }, error });
  }
  tell(runtime, [decided], options.by);
  return decided.decision;
}

/** The handler ended the transaction itself, or COMMIT was refused: the event is held without running it. */
async function holdBroken(
  runtime: Runtime,
  receiptId: number,
  { options, error }: { readonly options: ReapplyOptions; readonly error: unknown },
): Promise<Decided> {
  return transact(runtime, async (tx) => {
    const { receipt } = await lock(tx, receiptId, options.version);
    const decision = whereFinal(receipt, heldBy(runtime, receipt, error));
    const { connection } = options;
    await settle(tx, { receipt, decision, connection, runtime, rank: null, orderKey: receipt.orderKey });
    await options.also?.(tx, receipt, decision);
    return { receipt, decision };
  });
}

async function lock(tx: StoreTx, receiptId: number, version: number): Promise<OpenReceipt> {
  const open = await tx.lockReceipt(receiptId);
  if (open === undefined) {
    throw new CounterfoilError("NOT_FOUND", `Cannot apply event: there is no receipt ${receiptId}`);
  }
  if (open.receipt.version !== version) {
    throw decidedMeanwhile(open.receipt);
  }
  if (open.payload === null) {
    throw new CounterfoilError(
      "BYTES_EXPIRED",
      `Cannot apply event "${open.receipt.eventId}": its bytes were removed by retention; ask the provider to send it again`,
    );
  }
  return open;
}

function decidedMeanwhile({ eventId }: Receipt): CounterfoilError {
  const message = `Cannot apply event "${eventId}": it was decided again meanwhile; look at it once more`;
  return new CounterfoilError("CHANGED", message);
}

export interface Decided {
  readonly receipt: Receipt;
  readonly decision: Decision;
}

interface DecideOptions {
  readonly runtime: Runtime;
  readonly connection: Connection | undefined;
  readonly signals: Signals;
  readonly force: boolean;
  readonly by: ReapplyOptions["by"];
}

/** Decides one locked event, and writes it. */
export async function decide(tx: StoreTx, open: OpenReceipt, options: DecideOptions): Promise<Decided> {
  const { receipt, payload } = open;
  const { runtime, connection, signals } = options;
  const stored = connection && payload ? readStored(connection, receipt, payload) : undefined;
  const { rank, line } = standing(open, stored);
  const found =
    (await behind(tx, { receipt, rank, line }, options.by)) ?? (await foundBy(tx, { receipt, stored, ...options }));
  const decision = whereFinal(receipt, found);
  // Whoever is next in the line is due by this commit.
  if (line !== null) signals.arrived = true;
  // Whose an event is never changes once it is known; reading it again may only tell it for the first time.
  const identity =
    receipt.tenant === "" && stored?.draft ? { tenant: stored.draft.tenant, type: stored.draft.type } : undefined;
  const orderKey = line?.orderKey ?? null;
  await settle(tx, { receipt, decision, connection, runtime, rank, orderKey, ...(identity && { identity }) });
  return { receipt, decision };
}

/**
 * Where an event stands: its line stays the one that it joined, whatever the configuration says today, and
 * so does its place in it where the event cannot be read now.
 */
function standing(
  { receipt, rank }: OpenReceipt,
  stored: StoredReading | undefined,
): { rank: string | null; line: OrderKey | null } {
  const reading = stored?.reading.kind === "runnable" ? stored.reading : undefined;
  const orderKey = receipt.orderKey ?? reading?.orderKey ?? null;
  const { connection, account } = receipt;
  return {
    rank: reading === undefined ? rank : reading.rank,
    line: orderKey === null ? null : { connection, account, orderKey },
  };
}

/** An event that another of its line stands in front of does not overtake it, also not by an operator's word. */
async function behind(
  tx: StoreTx,
  { receipt, rank, line }: { readonly receipt: Receipt; readonly rank: string | null; readonly line: OrderKey | null },
  by: ReapplyOptions["by"],
): Promise<Decision | undefined> {
  if (line !== null && receipt.orderKey === null) await tx.lockOrders([line]);
  if (!(await isBehind(tx, { id: receipt.id, rank }, line))) return undefined;
  if (by === "retry") return { outcome: "queued", reason: behindReason };
  throw new CounterfoilError(
    "NOT_ALLOWED",
    `Cannot apply event "${receipt.eventId}": an earlier event of its order key is not decided; apply or resolve that one first`,
  );
}

async function foundBy(
  tx: StoreTx,
  run: DecideOptions & { readonly receipt: Receipt; readonly stored: StoredReading | undefined },
): Promise<Decision> {
  const { receipt, stored, force, signals, runtime } = run;
  if (stored === undefined) {
    return { outcome: "held", reason: "its connection is not configured, or its bytes are gone" };
  }
  return decisionOf(tx, { receipt, stored, force, runtime, signals });
}

async function decisionOf(
  tx: StoreTx,
  run: {
    readonly receipt: Receipt;
    readonly stored: StoredReading;
    readonly force: boolean;
    readonly runtime: Runtime;
    readonly signals: Signals;
  },
): Promise<Decision> {
  const { receipt, stored, force, runtime, signals } = run;
  const { draft, reading } = stored;
  if (receipt.outcome === "quarantined" && draft && draft.eventId !== receipt.eventId) return adopt(tx, draft);
  if (reading.kind === "decided") return reading.decision;
  if (receipt.tenant !== "" && draft?.tenant !== receipt.tenant) {
    return { outcome: "quarantined", reason: "its account maps to another tenant than when it was received" };
  }
  const { event, handler } = reading;
  // What makes a conflict due is its refresh.
  const isRefreshed = receipt.outcome === "conflict" && receipt.dueAt !== null;
  const ran = await runHandler(tx, { event, handler, receiptId: receipt.id, force, isRefreshed }, { runtime, signals });
  if (ran.kind === "decided") return ran.decision;
  // What is final owes nothing: a failed run of it is undone and told.
  if (!isOpen(receipt)) throw handlerError(ran.error, event);
  return held(runtime, receipt, ran.error);
}

/**
 * What is final stays final. An applied event that its own guards now turn away stays applied; whatever
 * would open a final event again is undone with a word.
 */
function whereFinal(receipt: Receipt, decision: Decision): Decision {
  if (isOpen(receipt)) return decision;
  if (!isFinal(decision.outcome) || isUnmapped(decision)) {
    throw new CounterfoilError(
      "NOT_ALLOWED",
      `Cannot reprocess event "${receipt.eventId}": it is ${receipt.outcome} and would become ${decision.outcome} (${decision.reason ?? "no reason"}); it stays as it is`,
    );
  }
  return receipt.outcome === "applied" ? { outcome: "applied", reason: receipt.reason } : decision;
}

/** Whether something is still to be decided: also for a type that no handler was mapped to. */
function isOpen(receipt: Receipt): boolean {
  return !isFinal(receipt.outcome) || isUnmapped(receipt);
}

function isUnmapped({ outcome, reason }: Pick<Decision, "outcome" | "reason">): boolean {
  return outcome === "ignored" && reason === unmappedReason;
}

/**
 * An event that could not be read is kept under a key made of its bytes. Now that its own id is known,
 * it becomes a receipt of its own, due at once, and the stand-in is resolved; so a redelivery under the
 * real id and this one never both apply.
 */
async function adopt(tx: StoreTx, draft: ReceiptDraft): Promise<Decision> {
  const [claim] = await tx.claimReceipts([{ ...draft, replay: null }]);
  if (claim?.kind === "fresh") {
    const due = {
      outcome: "queued",
      reason: "read again",
      tries: 0,
      starts: 0,
      dueAt: tx.now,
      deadlineAt: null,
      rank: null,
      orderKey: null,
      bytesExpireAt: null,
    } as const;
    await tx.settleReceipts([{ ...due, id: claim.id, version: 1 }]);
  }
  return { outcome: "resolved", reason: `is event ${draft.eventId}` };
}

function held(runtime: Runtime, receipt: Receipt, error: unknown): Decision {
  if (hasCode(error, ...storeTroubles) || (isTransactionTrouble(error) && !hasCode(error, "TRANSACTION_BROKEN"))) {
    throw error;
  }
  return heldBy(runtime, receipt, error);
}

export async function settle(
  tx: StoreTx,
  write: {
    readonly receipt: Receipt;
    readonly decision: Decision;
    readonly connection: Connection | undefined;
    readonly runtime: Runtime;
    readonly rank: string | null;
    readonly orderKey: string | null;
    readonly identity?: { readonly tenant: string; readonly type: string };
  },
): Promise<void> {
  const { receipt, decision, connection, runtime, rank, orderKey, identity } = write;
  const { limits, random } = runtime;
  const settled = place(receipt, decision, {
    now: tx.now,
    limits,
    random,
    bytesKeptMs: connection?.bytesKeptMs ?? limits.bytesMs,
    rank,
    orderKey,
  });
  const [written] = await tx.settleReceipts([{ ...settled, ...(identity && { identity }) }]);
  if (written !== true) throw decidedMeanwhile(receipt);
}

/** Tells what was decided, once it is committed. */
export function tell(runtime: Runtime, decided: readonly Decided[], by: "retry" | "operator"): void {
  for (const { receipt, decision } of decided) {
    // Put off, not decided.
    if (decision.reason === behindReason) continue;
    const { connection, account, eventId, outcome: before } = receipt;
    runtime.emit({ kind: "event.decided", connection, account, eventId, outcome: decision.outcome, by });
    if (before === "parked" && decision.outcome !== "parked") {
      runtime.emit({ kind: "park.released", connection, eventId });
    }
  }
}
