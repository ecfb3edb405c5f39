/** Takes back what is owed: at once where nothing can have reached the provider, else by asking that no new attempt begin. */
import { furthest, type Obligation } from "../domain/obligation.ts";
import { type Withdrawal, withdrawn } from "../domain/withdraw.ts";
import type { StoreTx } from "../store/store.ts";
import type { Scope } from "./owe.ts";
import type { Runtime } from "./runtime.ts";
import type { Signals } from "./wake.ts";

/** Whose work it is. */
export interface WithdrawOptions {
  readonly scope: Scope;
  readonly runtime: Runtime;
  readonly signals: Signals;
}

export async function withdrawOperation(
  tx: StoreTx,
  operationKey: string,
  { scope, runtime, signals }: WithdrawOptions,
): Promise<Withdrawal> {
  const known = await lockOrBury(tx, { ...scope, operationKey });
  if (known === undefined) return { result: "withdrawn", state: "withdrawn", reached: "no" };
  const { state, reached } = known;
  if (state === "done" || state === "settling") return { result: "done", state, reached };
  if (state === "withdrawn" || state === "cancelled") return { result: "withdrawn", state, reached };
  signals.owed = true;
  if (!canTakeBack(known)) {
    await tx.requestCancel(known.id);
    return { result: "requested", state, reached: state === "sending" ? furthest(reached, "maybe") : reached };
  }
  const { effects } = runtime;
  // A worker that knows the effect finds out whether it has a hook, where this process does not.
  const hook = !effects.has(known.effect) || effects.get(known.effect)?.abandoned !== undefined;
  const to = withdrawn(known, hook ? tx.now : null);
  const move = { obligationId: known.id, fence: known.fence, attempt: null, keepLease: false, raiseFence: true };
  await tx.move([{ ...move, to }]);
  return { result: "withdrawn", state: to.state, reached };
}

/** The obligation under its lock; `undefined` where there was none and now is a tombstone. */
async function lockOrBury(tx: StoreTx, draft: Parameters<StoreTx["bury"]>[0]): Promise<Obligation | undefined> {
  const { tenant, operationKey } = draft;
  const known = await tx.lockObligation(tenant, operationKey);
  if (known !== undefined) return known;
  const { connection, account, receiptId } = draft;
  if (await tx.bury({ tenant, operationKey, connection, account, receiptId })) return undefined;
  // Another transaction owed it meanwhile, and is committed.
  return tx.lockObligation(tenant, operationKey);
}

/** Whether nothing can be there: nothing has reached the provider, or a lookup or an operator said that it is absent. */
function canTakeBack({ state, reached, keySince }: Obligation): boolean {
  return (state === "owed" || state === "stuck") && (reached === "no" || keySince === null);
}
