/** A store with a little of everything that one can hold, and the view that an operator has of it. */

import { commit } from "../../src/store/conformance/bundle.conformance.ts";
import {
  answer,
  attemptEnd,
  bytesOf,
  claimDue,
  claimedId,
  claimedObligation,
  moveOf,
  obligationDraft,
  owedId,
  receiptDraft,
  settledReceipt,
  snapshotDraft,
} from "../../src/store/conformance/drafts.conformance.ts";
import type { Page } from "../../src/store/reader.ts";
import type { Store } from "../../src/store/store.ts";

const day = 86_400_000;
const everyByte = Uint8Array.from({ length: 256 }, (_, index) => index);

/** Fills a store that is empty and open. What is under a lease in the end is so for this long. */
export async function fillStore(store: Store, { events = 40, leaseMs = 60_000 } = {}): Promise<void> {
  await fillEvents(store, events);
  await fillObligations(store, leaseMs);
  await fillRecords(store);
}

async function fillEvents(store: Store, events: number): Promise<void> {
  const plain = Array.from({ length: events }, (_, index) =>
    receiptDraft({ eventId: `evt_${index}`, account: index % 3 === 0 ? "acct_1" : "", bytesKeptMs: 3 * day }),
  );
  for (let at = 0; at < plain.length; at += 100) {
    await commit(store, (tx) => tx.claimReceipts(plain.slice(at, at + 100)));
  }
  await claimedId(store, {
    eventId: "ünï \u{1F4E6} 'quoted' \"twice\" \\ / ",
    payload: { bytes: everyByte, headers: "[]" },
  });
  await claimedId(store, { eventId: "empty", payload: { bytes: new Uint8Array(), headers: "[]" } });
  await claimedId(store, { eventId: "large", payload: { bytes: new Uint8Array(300_000).fill(7), headers: "[]" } });
  const expired = await claimedId(store, { eventId: "expired", bytesKeptMs: 0 });
  await commit(store, (tx) => tx.expireBytes(10));
  const decided = [
    { outcome: "held", reason: "it threw a \0 and more", tries: 3, dueAt: Date.now() + day, bytesExpireAt: null },
    { outcome: "held", reason: "too often", tries: 20, bytesExpireAt: null },
    { outcome: "parked", waitsFor: { kind: "order", id: "1042/ü" }, dueAt: Date.now() + day, rank: "0007" },
    { outcome: "conflict", reason: "the same revision" },
    { outcome: "queued", reason: "behind", orderKey: "line ü", dueAt: Date.now() + day },
    { outcome: "quarantined", reason: "unreadable" },
    { outcome: "refused", reason: "already paid", bytesExpireAt: Date.now() + day },
    { outcome: "ignored", reason: null, bytesExpireAt: "now" },
    { outcome: "stale", reason: null, identity: { tenant: "other", type: "order.changed" } },
  ] as const;
  for (const [index, decision] of decided.entries()) {
    const id = await claimedId(store, { eventId: `decided_${index}` });
    await commit(store, (tx) =>
      tx.settleReceipts([settledReceipt({ id, ...decision, deadlineAt: Date.now() + 2 * day })]),
    );
  }
  const replay = { digest: "body", windowMs: 7 * day };
  await claimedId(store, { eventId: "signed-once", replay });
  await commit(store, (tx) => tx.claimReceipts([receiptDraft({ eventId: "signed-twice", replay })]));
  await redeliver(store, expired);
}

async function redeliver(store: Store, receiptId: number): Promise<void> {
  const other = (digest: string) => ({ digest, payload: { bytes: bytesOf(digest), headers: "[]" } });
  const again = (mismatch: ReturnType<typeof other> | null) => ({ receiptId, mismatch });
  await commit(store, (tx) => tx.recordRedeliveries([again(null), again(other("a")), again(other("b"))]));
  await commit(store, (tx) => tx.acknowledgeMismatches(receiptId));
  await commit(store, (tx) =>
    tx.recordRedeliveries([again(other("c")), ...Array.from({ length: 40 }, () => again(null))]),
  );
}

async function fillObligations(store: Store, leaseMs: number): Promise<void> {
  const first = await claimedId(store, { eventId: "owes" });
  const now = Date.now();
  const stamp = { wallMs: now - 60_000, monotonicMs: 5, bootId: "another boot" };
  const tried = { reached: "maybe", keySince: stamp, lastCallEndedAt: stamp } as const;
  const claimed = (operationKey: string) => claimedObligation(store, { operationKey, receiptId: first });
  const end = attemptEnd();
  const unknown = attemptEnd({ verdict: "unknown", phase: "sent", status: null, cause: "RESET", answer: null });

  const done = await claimed("done");
  await commit(store, (tx) => tx.move([moveOf(done, { state: "done", reached: "yes" }, { attempt: end })]));
  const stuck = await claimed("stuck/ü");
  await commit(store, (tx) =>
    tx.move([moveOf(stuck, { state: "stuck", reason: "status \0 422", tries: 1 }, { attempt: unknown })]),
  );
  const uncertain = await claimed("uncertain");
  const later = { state: "uncertain", dueAt: now + day, ...tried } as const;
  await commit(store, (tx) => tx.move([moveOf(uncertain, later, { attempt: unknown })]));
  const again = await claimed("again");
  const retried = { state: "owed", dueAt: now + day, tries: 2, generation: 3, ...tried } as const;
  await commit(store, (tx) => tx.move([moveOf(again, retried, { attempt: unknown, answer })]));
  const cancelled = await claimed("cancelled");
  await commit(store, (tx) => tx.move([moveOf(cancelled, { state: "cancelled", reason: "no more" })]));
  const settling = await claimed("settling");
  await commit(store, (tx) =>
    tx.move([moveOf(settling, { state: "settling", reached: "yes" }, { attempt: end, keepLease: true })]),
  );
  await owedId(store, {
    operationKey: "sending",
    request: { ...obligationDraft().request, body: null, contentType: null },
  });
  await claimDue(store, { worker: "worker of the file", leaseMs });
  await owedId(store, { operationKey: "owed", tenant: "other", destination: "https://elsewhere.example" });
}

async function fillRecords(store: Store): Promise<void> {
  const revisions = ["0", "-12", "9".repeat(40), `-1${"0".repeat(30)}`, "42", "unknown"];
  for (const [index, revision] of revisions.entries()) {
    const state = index === 4 ? null : `{"revision":"${revision}","ü":"\u2028"}`;
    await commit(store, (tx) => tx.snapshot(snapshotDraft({ id: `p-${index}`, revision, state })));
  }
  const customer = { tenant: "acme", connection: "shop", account: "", kind: "customer" };
  await commit(store, (tx) => tx.wantRefreshes(["c-1", "c-2", "c-3"].map((id) => ({ ...customer, id }))));
  const claims = await commit(store, (tx) => tx.claimRefreshes({ kind: "customer", limit: 2, leaseMs: day }));
  await commit(store, (tx) => tx.wantRefreshes(claims.slice(0, 1)));
  await commit(store, (tx) => tx.endRefresh({ ...claims[1]!, tries: 3, dueAt: null, reason: "it said \0 404" }));
  await commit(store, (tx) => tx.pauseDestination("https://paused.example", "it refused \0 us"));
  await commit(store, (tx) => tx.pauseDestination("https://resumed.example", null));
  await commit(store, (tx) => tx.pauseConnection("projects", "a mend \0"));
  await commit(store, (tx) => tx.pauseConnection("shop", null));
  const refusal = { at: Date.now(), connection: "stripe", cause: "expired", facts: '{"secret":"no"}' };
  await commit(store, (tx) => tx.recordRefusals([refusal, { ...refusal, cause: "mismatch" }]));
  const act = { who: "ann", action: "retry", target: "receipt/1", why: "wh\0y", before: "held", after: null };
  await commit(store, (tx) => tx.audit(act));
  await commit(store, (tx) => tx.audit({ ...act, target: "obligation/1", after: "owed" }));
  await commit(store, (tx) => tx.seeWorker({ name: "worker of the file", effects: ["ship/v1"], forgetMs: day }));
}

/** Everything that the reader tells, but for what tells of processes, of the engine, and of clocks that only one has. */
export async function viewOf({ reader }: Pick<Store, "reader">): Promise<object> {
  const receipts = await all((page) => reader.receipts({}, page));
  const obligations = await all((page) => reader.obligations({}, page));
  const counts = await reader.counts();
  const view = {
    receiptsByOutcome: counts.receipts,
    obligationsByState: counts.obligations,
    deliveries: counts.deliveries,
    mismatches: counts.mismatches,
    refusalsByCause: counts.refusals,
    oldestOwedAt: counts.oldestOwedAt,
    pausedDestinations: counts.pausedDestinations,
    pausedConnections: counts.pausedConnections,
    attention: (await reader.attention({ limit: 1_000 })).map((item) => ({ ...item, cursor: null })),
    refusals: await reader.refusals({ limit: 1_000 }),
    receipts: await each(receipts, ({ id }) => reader.receipt(id)),
    payloads: await each(receipts, ({ id }) => reader.payload(id)),
    obligations: await each(obligations, async ({ tenant, operationKey }) =>
      untimed(await reader.obligation(tenant, operationKey)),
    ),
    refreshes: await each(["c-1", "c-2", "c-3"], (id) =>
      reader.refresh({ connection: "shop", account: "", kind: "customer", id }),
    ),
    snapshots: await each([0, 1, 2, 3, 4, 5], (index) =>
      reader.snapshot({ connection: "projects", account: "", kind: "project", id: `p-${index}` }),
    ),
  };
  // Not every engine has NUL in text.
  return JSON.parse(JSON.stringify(view, comparable).replaceAll(String.raw`\u0000`, "\uFFFD")) as object;
}

/** Bytes as text; stamps as whether there is one. */
function comparable(name: string, value: unknown): unknown {
  if (name === "keySince" || name === "lastCallEndedAt") return value !== null;
  return value instanceof Uint8Array ? Buffer.from(value).toString("hex") : value;
}

/** Without what is told by the clocks of the file: how long a lease lives, and since when its attempt runs. */
function untimed(detail: Awaited<ReturnType<Store["reader"]["obligation"]>>): object | undefined {
  if (!detail) return undefined;
  const { lease, attempts, ...rest } = detail;
  const told = attempts.map(({ startedAt, ...attempt }) =>
    attempt.verdict === "started" ? attempt : { ...attempt, startedAt },
  );
  return { ...rest, lease: lease?.worker, attempts: told };
}

async function each<Item, Value>(
  items: readonly Item[],
  read: (item: Item) => Promise<Value>,
): Promise<readonly Value[]> {
  const values: Value[] = [];
  for (const item of items) values.push(await read(item));
  return values;
}

async function all<Row extends { readonly id: number }>(
  page: (page: Page) => Promise<readonly Row[]>,
): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (let before: number | undefined; ; before = rows.at(-1)?.id) {
    const next = await page({ limit: 1_000, before });
    rows.push(...next);
    if (next.length < 1_000) return rows;
  }
}
