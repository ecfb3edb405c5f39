import { hasCode } from "../domain/errors.ts";
import { conflictReasons, type Decision, isFinal, type OpenOutcome } from "../domain/outcome.ts";
import type { Connection } from "../inbox/connection.ts";
import type { Connections } from "../inbox/connections.ts";
import { place } from "../inbox/schedule.ts";
import { auditTarget } from "../store/audit-target.ts";
import { refreshedKey } from "../work/refreshed.ts";
import { transact } from "../work/transact.ts";
import { auditReceipt, lookAt, type ReceiptAction, type ReceiptFacts, runAgain } from "./act-on-receipt.ts";
import { type Acted, type Acting, tell } from "./acting.ts";

/**
 * What the operator chose: keep what is there, take this event's content, ask the source once more, or
 * acknowledge that other contents came under its id, which decides nothing.
 */
export type Resolution = "keep" | "take" | "refresh" | "acknowledge";

/** What to do with an event that contradicts nothing. */
const instead: Readonly<Record<Exclude<OpenOutcome, "conflict">, string>> = {
  queued: "its handler runs by itself, apply runs it now, and resolve keep closes it without",
  parked:
    "it is applied when what it waits for arrives, apply runs its handler now, and resolve keep closes it without",
  held: "mend its handler and apply it, or close it by resolve keep",
  suspect: "apply it if it is genuine, or close it by resolve keep if it is a replay",
  quarantined: "apply it once it can be read, or close it by resolve keep",
};

/** Decides an event that the machine cannot decide. */
export async function resolve(acting: Acting, request: ReceiptAction, choice: Resolution): Promise<Acted> {
  const facts = await lookAt(acting, request, "resolve");
  if (choice === "acknowledge") return acknowledge(acting, facts, request.why);
  const { outcome } = facts.receipt;
  if (isFinal(outcome)) return { changed: false, says: `It is ${outcome} already` };
  if (choice === "keep") return keep(acting, facts, request.why);
  if (outcome !== "conflict") throw facts.refuse(`it is ${outcome}, not in conflict; ${instead[outcome]}`);
  if (facts.receipt.reason === conflictReasons.operation) {
    throw facts.refuse(
      "an operation key is taken by other input, which no content can change; keep it, or mend the key in its handler and reprocess it",
    );
  }
  if (choice === "refresh") return refresh(acting, facts, request.why);
  return runAgain(acting, facts, { action: "resolve take", why: request.why, force: true });
}

/** Closes the event without its handler; what is kept stays as it is. */
async function keep(acting: Acting, { receipt, stale }: ReceiptFacts, why: string | undefined): Promise<Acted> {
  const { runtime, connections } = acting;
  const decision: Decision = { outcome: "resolved", reason: "an operator kept what was there" };
  const connection = await found(connections, receipt.connection);
  const bytesKeptMs = connection?.bytesKeptMs ?? runtime.limits.bytesMs;
  const { orderKey } = receipt;
  await transact(runtime, async (tx, signals) => {
    const placing = { now: tx.now, limits: runtime.limits, random: runtime.random, bytesKeptMs, rank: null, orderKey };
    if (orderKey !== null) {
      await tx.lockOrders([{ connection: receipt.connection, account: receipt.account, orderKey }]);
      // Whoever is next in the line is due by this commit.
      signals.arrived = true;
    }
    const [settled] = await tx.settleReceipts([place(receipt, decision, placing)]);
    if (settled !== true) throw stale();
    await auditReceipt(acting, tx, { action: "resolve keep", why, before: receipt, after: decision });
  });
  const { account, eventId } = receipt;
  runtime.emit({
    kind: "event.decided",
    connection: receipt.connection,
    account,
    eventId,
    outcome: decision.outcome,
    by: "operator",
  });
  tell(acting, "resolve keep", auditTarget("receipt", receipt.id));
  return { changed: true, says: "It is resolved: what is kept stays, this event's content is not taken" };
}

/** One that cannot be told now keeps nobody from closing its event: its bytes then stay for the default time. */
async function found(connections: Connections, id: string): Promise<Connection | undefined> {
  try {
    return await connections.find(id);
  } catch (error) {
    if (hasCode(error, "CONNECTION_UNAVAILABLE", "OVERLOADED")) return undefined;
    throw error;
  }
}

/** Leaves the decision to the source: what it says is kept, and the event is looked at once more then. */
async function refresh(acting: Acting, facts: ReceiptFacts, why: string | undefined): Promise<Acted> {
  const { detail, receipt, refuse, stale } = facts;
  const resource = refreshedKey(detail.waitsFor);
  if (resource === undefined || !acting.runtime.resources.has(resource.kind)) {
    throw refuse("what it contradicts has no fetch; keep what is there, or take this event's content");
  }
  await transact(acting.runtime, async (tx, signals) => {
    const now = await tx.lockReceipt(receipt.id);
    if (now?.receipt.version !== receipt.version) throw stale();
    await tx.wantRefreshes([{ ...resource, tenant: receipt.tenant }]);
    signals.arrived = true;
    const after: Decision = { outcome: receipt.outcome, reason: receipt.reason };
    await auditReceipt(acting, tx, { action: "resolve refresh", why, before: receipt, after });
  });
  tell(acting, "resolve refresh", auditTarget("receipt", receipt.id));
  return { changed: true, says: "Its source is asked soon; what that says is kept, and decides the event" };
}

async function acknowledge(
  acting: Acting,
  { receipt, detail, stale }: ReceiptFacts,
  why: string | undefined,
): Promise<Acted> {
  const { runtime, who } = acting;
  if (detail.mismatches === 0) return { changed: false, says: "It has no mismatch that is not acknowledged" };
  const target = auditTarget("receipt", receipt.id);
  await transact(runtime, async (tx) => {
    // Another number than was seen: one came meanwhile, or somebody else was here first.
    if ((await tx.acknowledgeMismatches(receipt.id)) !== detail.mismatches) throw stale();
    const before = JSON.stringify({ mismatches: detail.mismatches });
    await tx.audit({
      who,
      action: "resolve acknowledge",
      target,
      why: why ?? null,
      before,
      after: JSON.stringify({ mismatches: 0 }),
    });
  });
  tell(acting, "resolve acknowledge", target);
  return { changed: true, says: "Its mismatches are acknowledged; the event stays as it was decided" };
}
