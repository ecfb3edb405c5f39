/**
 * Applies stored events that are due: queued and held ones, and parked ones whose prerequisite arrived.
 *
 * A handler may end its process, again and again, and then nothing else is left of its run. So a start is
 * counted and committed before the handler runs, with a later due time as its lease; whatever is decided takes
 * the count away. An event whose count stands runs alone, so that none is charged for another, and at
 * `crashesMax` it is held for the operator.
 */
import { hasCode } from "../domain/errors.ts";
import { type Decision, lostReason } from "../domain/outcome.ts";
import type { Receipt } from "../domain/receipt.ts";
import type { StoreTx } from "../store/store.ts";
import type { Runtime } from "../work/runtime.ts";
import { transact } from "../work/transact.ts";
import type { Connection } from "./connection.ts";
import { decide, type Decided, oneEventsTroubles, reapply, type ReapplyContext, settle, tell } from "./reapply.ts";

/** A batch this small keeps the lock short; what is left is due again at once. */
const batchMax = 32;

/**
 * Applies what is due. Gives whether anything was, so that the caller goes on until nothing is.
 *
 * A batch shares one commit; when one handler breaks it, each event runs alone and answers for itself.
 */
export async function applyDue(context: ReapplyContext): Promise<boolean> {
  const { runtime, connections } = context;
  await findDue(context);
  const atHand = connections.atHand();
  const { started, isAny } = await startDue(runtime, atHand);
  if (started.length === 0) return isAny;
  try {
    tell(runtime, await applyStarted(runtime, started, atHand), "retry");
  } catch (error) {
    try {
      if (!hasCode(error, ...oneEventsTroubles, "STORE_BUSY")) throw error;
      await applyEachAlone(context, started, atHand);
    } finally {
      await giveBack(runtime, started);
    }
  }
  return true;
}

/** Takes what is due and counts a start of each. */
async function startDue(
  runtime: Runtime,
  atHand: ReadonlyMap<string, Connection>,
): Promise<{ readonly started: readonly Receipt[]; readonly isAny: boolean }> {
  const { lockMs, leaseMs, crashesMax } = runtime.limits;
  const begin = async (tx: StoreTx) => {
    const due = await tx.dueReceipts({ limit: batchMax, connections: [...atHand.keys()] });
    const suspect = due.find(({ starts }) => starts > 0);
    if (suspect && suspect.starts >= crashesMax) {
      const connection = atHand.get(suspect.connection);
      return { started: [], isAny: true, lost: await holdLost(tx, suspect, { runtime, connection }) };
    }
    const started = suspect ? [suspect] : due;
    if (started.length > 0) await tx.startReceipts(idsOf(started), leaseMs);
    return { started, isAny: started.length > 0, lost: undefined };
  };
  // The count has to outlive this process only.
  const { lost, ...begun } = await transact(runtime, begin, { waitMs: lockMs, fleeting: true });
  if (lost) tell(runtime, [lost], "retry");
  return begun;
}

async function holdLost(
  tx: StoreTx,
  receipt: Receipt,
  { runtime, connection }: { readonly runtime: Runtime; readonly connection: Connection | undefined },
): Promise<Decided> {
  const decision: Decision = { outcome: "held", reason: lostReason };
  await settle(tx, { receipt, decision, connection, runtime, rank: null, orderKey: receipt.orderKey });
  return { receipt, decision };
}

function applyStarted(
  runtime: Runtime,
  started: readonly Receipt[],
  atHand: ReadonlyMap<string, Connection>,
): Promise<readonly Decided[]> {
  return transact(runtime, async (tx, signals) => {
    const versions = new Map(started.map(({ id, version }) => [id, version]));
    const decided: Decided[] = [];
    const startedMs = runtime.clock.monotonicMs();
    for (const open of await tx.lockReceipts(idsOf(started))) {
      const { id, version, connection: name } = open.receipt;
      if (versions.get(id) !== version) continue;
      // Leases are renewed between transactions: what is left over is due again at once.
      if (runtime.clock.monotonicMs() - startedMs > runtime.limits.groupMs) break;
      const connection = atHand.get(name);
      decided.push(await decide(tx, open, { runtime, connection, signals, force: false, by: "retry" }));
      versions.delete(id);
    }
    const left = started.filter(({ id }) => versions.has(id));
    if (left.length > 0) await tx.returnReceipts(left);
    return decided;
  });
}

/** This process lives, so that what it did not decide is not charged. Where even that fails, the lease ends by itself. */
async function giveBack(runtime: Runtime, started: readonly Receipt[]): Promise<void> {
  try {
    await transact(runtime, (tx) => tx.returnReceipts(started));
  } catch {
    // What led here is what is told.
  }
}

function idsOf(receipts: readonly Receipt[]): number[] {
  return receipts.map(({ id }) => id);
}

/** Finds the connections of what is due that no list holds, before a transaction that would wait for them. */
async function findDue({ runtime, connections }: ReapplyContext): Promise<void> {
  const { reader } = runtime.store;
  await connections.prepareDue((page) => reader.dueConnections({ ...page, limit: batchMax }), batchMax);
}

/** One that waits in vain for what somebody else holds keeps nobody else from being applied. */
async function applyEachAlone(
  context: ReapplyContext,
  due: readonly Receipt[],
  atHand: ReadonlyMap<string, Connection>,
): Promise<void> {
  let busy: { readonly error: unknown } | undefined;
  let applied = 0;
  for (const receipt of due) {
    try {
      await applyAlone(context, receipt, atHand.get(receipt.connection));
      applied += 1;
    } catch (error) {
      if (!hasCode(error, "STORE_BUSY")) throw error;
      busy = { error };
    }
  }
  if (busy && applied === 0) throw busy.error;
}

async function applyAlone(
  context: ReapplyContext,
  { id, version }: Receipt,
  connection: Connection | undefined,
): Promise<void> {
  try {
    await reapply(context, id, { version, force: false, by: "retry", connection });
  } catch (error) {
    if (!hasCode(error, "CHANGED", "BYTES_EXPIRED")) throw error;
  }
}
