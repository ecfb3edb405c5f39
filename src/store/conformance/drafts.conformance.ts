/** Drafts with every field set; a test names only what it is about. */
import type { AttemptEnd, Obligation, Progress, StoredAnswer } from "../../domain/obligation.ts";
import type { Claim, Move, ObligationDraft, ReceiptDraft, SettledReceipt, SnapshotDraft, Store } from "../store.ts";
import { commit } from "./bundle.conformance.ts";

export function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

export function receiptDraft(overrides: Partial<ReceiptDraft> = {}): ReceiptDraft {
  return {
    connection: "stripe",
    account: "",
    eventId: "evt_1",
    tenant: "acme",
    type: "order.paid",
    digest: "v1:digest",
    secretId: "secret-1",
    payload: { bytes: bytesOf('{"id":"evt_1"}'), headers: '[["content-type","application/json"]]' },
    bytesKeptMs: 60_000,
    replay: null,
    ...overrides,
  };
}

/** The decision on a fresh receipt, unless a version says otherwise. */
export function settledReceipt(overrides: Partial<SettledReceipt> & { readonly id: number }): SettledReceipt {
  return {
    version: 1,
    outcome: "applied",
    reason: null,
    tries: 0,
    starts: 0,
    dueAt: null,
    deadlineAt: null,
    rank: null,
    orderKey: null,
    bytesExpireAt: null,
    ...overrides,
  };
}

export function obligationDraft(overrides: Partial<ObligationDraft> = {}): ObligationDraft {
  return {
    tenant: "acme",
    operationKey: "acme/order-1/fulfil/v1",
    effect: "ship/v1",
    destination: "https://carrier.example",
    connection: "stripe",
    account: "",
    receiptId: null,
    input: '{"order":"order-1"}',
    inputDigest: "input-1",
    request: {
      method: "POST",
      url: "https://carrier.example/v1/shipments",
      contentType: "application/json",
      body: bytesOf('{"order":"order-1"}'),
    },
    requestDigest: "request-1",
    orderKey: null,
    notBefore: null,
    ...overrides,
  };
}

export function snapshotDraft(overrides: Partial<SnapshotDraft> = {}): SnapshotDraft {
  return {
    connection: "projects",
    account: "",
    kind: "project",
    id: "p-1",
    revision: "1",
    digest: "content-1",
    state: '{"status":"open"}',
    force: false,
    ...overrides,
  };
}

export const answer: StoredAnswer = { status: 201, body: bytesOf('{"id":"shp_1"}'), truncated: false };

export function attemptEnd(overrides: Partial<AttemptEnd> = {}): AttemptEnd {
  return { verdict: "done", phase: "answered", status: 201, cause: null, answer, ...overrides };
}

export function progressOf(obligation: Obligation, overrides: Partial<Progress> = {}): Progress {
  const { state, reached, generation, keySince, tries, lookups, crashes, lastCallEndedAt, dueAt, reason } = obligation;
  return {
    state,
    reached,
    generation,
    keySince,
    tries,
    lookups,
    crashes,
    lastCallEndedAt,
    dueAt,
    reason,
    ...overrides,
  };
}

/** A lease holder's move of a claim. */
export function moveOf(
  claim: Pick<Claim, "obligation" | "fence">,
  to: Partial<Progress>,
  overrides: Partial<Move> = {},
): Move {
  return {
    obligationId: claim.obligation.id,
    fence: claim.fence,
    to: progressOf(claim.obligation, to),
    attempt: null,
    keepLease: false,
    raiseFence: false,
    ...overrides,
  };
}

/** Commits one fresh receipt and gives its id. */
export async function claimedId(store: Store, overrides: Partial<ReceiptDraft> = {}): Promise<number> {
  const [claimed] = await commit(store, (tx) => tx.claimReceipts([receiptDraft(overrides)]));
  if (claimed?.kind !== "fresh") throw new Error(`Cannot go on: the receipt is ${claimed?.kind}, expected is fresh`);
  return claimed.id;
}

/** Commits one obligation and gives its id. */
export async function owedId(store: Store, overrides: Partial<ObligationDraft> = {}): Promise<number> {
  const [owed] = await commit(store, (tx) => tx.owe([obligationDraft(overrides)]));
  if (owed?.kind !== "created") throw new Error(`Cannot go on: the obligation is ${owed?.kind}, expected is created`);
  return owed.id;
}

export const lane = { effect: "ship/v1", destination: "https://carrier.example", calls: true } as const;

/** The lane of the drafts' hooks. */
export const hookLane = { ...lane, calls: false } as const;

/** Claims what is due in the lanes of the drafts. */
export function claimDue(
  store: Store,
  { worker = "worker-1", leaseMs = 60_000, limit = 100 } = {},
): Promise<readonly Claim[]> {
  const lanes = [lane, hookLane].map((each) => ({ ...each, limit }));
  return commit(store, (tx) => tx.claim({ lanes, worker, leaseMs }));
}

/** Owes one obligation and claims it. */
export async function claimedObligation(store: Store, overrides: Partial<ObligationDraft> = {}): Promise<Claim> {
  const id = await owedId(store, overrides);
  const claims = await claimDue(store);
  const claim = claims.find(({ obligation }) => obligation.id === id);
  if (!claim) throw new Error("Cannot go on: the obligation was not claimed");
  return claim;
}
