/** How the engine's own statements are carried out: by an index, and prepared once. */
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test, vi } from "vitest";
import { commit } from "../conformance/bundle.conformance.ts";
import {
  answer,
  attemptEnd,
  claimDue,
  claimedId,
  claimedObligation,
  moveOf,
  obligationDraft,
  receiptDraft,
  settledReceipt,
  snapshotDraft,
} from "../conformance/drafts.conformance.ts";
import { prunableKinds, type Store } from "../store.ts";
import { sqliteBundle } from "./bundle.conformance.ts";

/** What may be scanned: values of ours, small tables, and indexes that hold only what is open. */
const allowed = [
  /^SCAN CONSTANT ROW$/,
  /^SCAN json_each /,
  /^SCAN (due|m|here|p|t)$/,
  /^SCAN counterfoil_(refusals|destinations|workers|notices)/,
  /^SCAN (o|r) USING INDEX counterfoil_\w+_(leased|attention)$/,
  /^SCAN counterfoil_(mismatches|receipts|obligations) USING COVERING INDEX counterfoil_\w+_(open|outcome)$/,
  /^SCAN counterfoil_connections USING (COVERING )?INDEX counterfoil_connections_paused$/,
  // Counts of what is open.
  /^SCAN counterfoil_refreshes USING (COVERING )?INDEX counterfoil_refreshes_(due|failed)$/,
];

async function useEverything({ store }: { readonly store: Store }): Promise<void> {
  const replay = { digest: "content", windowMs: 5_000 };
  const id = await claimedId(store, { replay });
  await commit(store, async (tx) => {
    await tx.claimReceipts([receiptDraft({ replay }), receiptDraft({ eventId: "evt_2", replay })]);
    await tx.settleReceipts([settledReceipt({ id, bytesExpireAt: "now" }), settledReceipt({ id: id + 1 })]);
    const payload = { bytes: new Uint8Array(), headers: "[]" };
    await tx.recordRedeliveries([{ receiptId: id, mismatch: { digest: "other", payload } }]);
    await tx.acknowledgeMismatches(id);
    await tx.expireBytes(1);
    await tx.discardReceipts([id + 1]);
    await tx.dueReceipts({ limit: 1, connections: ["stripe"] });
    await tx.startReceipts([id], 0);
    await tx.returnReceipts([{ id, version: 2 }]);
    await tx.lockReceipts([id]);
    await tx.lockReceipt(id);
    await tx.arrive("acme", { kind: "order", id: "1" });
    for (const revision of ["2", "1"]) await tx.snapshot(snapshotDraft({ revision }));
    await tx.audit({ who: "", action: "", target: "", why: null, before: null, after: null });
    await tx.recordRefusals([{ at: 1, connection: "", cause: "", facts: "" }]);
    await tx.touch();
    await tx.seeWorker({ name: "worker-1", effects: ["ship/v1"], forgetMs: 1 });
    await tx.leaveWorker("worker-1");
    await tx.claimNotices({ keys: ["effect/a", "effect/b"], leaseMs: 1 });
    await tx.settleNotices(["effect/a"], true);
    await tx.settleNotices(["effect/b"], false);
    await tx.forgetNotices(["effect/a"], []);
    await tx.wantRefreshes([{ tenant: "acme", connection: "stripe", account: "", kind: "customer", id: "c" }]);
    const waits = { running: false, dueAt: tx.now, reason: null, updatedAt: tx.now };
    await tx.dropRefresh({ tenant: "", connection: "", account: "", kind: "", id: "", ticket: 0, tries: 0, ...waits });
    await tx.clampDue({
      receiptsMs: 1,
      deadlinesMs: 1,
      refreshesMs: 1,
      obligations: [{ effect: "ship/v1", withinMs: -1 }],
    });
    await tx.pauseDestination("elsewhere", null);
    await tx.pauseConnection("elsewhere", null);
    await tx.owe([obligationDraft({ operationKey: "k2" }), obligationDraft({ operationKey: "k2" })]);
    await tx.owe([obligationDraft({ operationKey: "k3", orderKey: "acme/c" })]);
    await tx.freeOrders("", 1);
    await tx.bury({ tenant: "acme", operationKey: "k4", connection: "", account: "", receiptId: null });
    await tx.requestCancel(id);
    await tx.amend(id, obligationDraft().request, "d");
    await tx.cancelRequested([id]);
    await tx.lockObligation("acme", "k2");
    await tx.dueLanes();
  });
  const claim = await claimedObligation(store, { receiptId: id });
  await commit(store, async (tx) => {
    await tx.renew([{ obligationId: claim.obligation.id, fence: claim.fence }], 1_000);
    await tx.expiredLeases(1);
    await tx.evidence([claim.obligation.id]);
    await tx.move([moveOf(claim, {}, { keepLease: true, attempt: attemptEnd(), answer })]);
    await tx.move([moveOf(claim, { state: "settling", dueAt: tx.now })]);
  });
  await claimDue(store);
  await commit(store, async (tx) => {
    for (const kind of prunableKinds) {
      for (const dryRun of [true, false]) await tx.prune({ kind, olderThanMs: -1, after: 0, limit: 1, dryRun });
    }
  });
}

async function readEverything({ reader }: Store): Promise<void> {
  await reader.counts();
  await reader.dueConnections({ except: ["stripe"], after: "", limit: 1 });
  const page = { limit: 2, before: 9 };
  await reader.attention(page);
  await reader.receipt(1);
  await reader.payload(1);
  await reader.obligation("acme", obligationDraft().operationKey);
  await reader.obligation("acme", "k3");
  await reader.refusals(page);
  await reader.refreshes({ connection: "stripe" }, { limit: 2 });
  await reader.snapshot(snapshotDraft());
  for (const connection of [undefined, "stripe"]) {
    for (const outcome of [undefined, "held", "applied"] as const) {
      for (const eventId of [undefined, "evt_1"]) await reader.receipts({ connection, outcome, eventId }, page);
    }
  }
  for (const tenant of [undefined, "acme"]) {
    for (const state of [undefined, "stuck", "done"] as const) {
      for (const keyPrefix of [undefined, "acme/"]) await reader.obligations({ tenant, state, keyPrefix }, page);
      for (const effect of ["ship/v1"]) await reader.obligations({ tenant, state, effect }, page);
    }
  }
}

/** The texts of all statements, and a database that has their schema. */
async function ownStatements(): Promise<{ readonly texts: readonly string[]; readonly database: DatabaseSync }> {
  const prepare = vi.spyOn(DatabaseSync.prototype, "prepare");
  const bundle = await sqliteBundle();
  onTestFinished(bundle.dispose);
  await useEverything(bundle);
  await readEverything(bundle.store);
  const texts = new Set(prepare.mock.calls.map(([text]) => text));
  prepare.mockRestore();
  const database = new DatabaseSync(bundle.path);
  onTestFinished(() => database.close());
  expect(texts.size).toBeGreaterThan(60);
  const isOwn = (text: string): boolean =>
    /^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)/.test(text) && !/sqlite_schema|sqlite_version|_migrations/.test(text);
  return { texts: [...texts].filter(isOwn), database };
}

/** Values for a statement's parameters, which are numbered or not. */
function valuesFor(text: string, value: number): number[] {
  const numbers = [...text.matchAll(/\?(\d+)/g)].map(([, number]) => Number(number));
  return Array.from({ length: Math.max(text.split("?").length - 1 - numbers.length, ...numbers) }, () => value);
}

test("no statement is prepared anew for another run", async () => {
  const { texts, database } = await ownStatements();
  let asked = 0;
  // It is asked whenever something is prepared.
  database.setAuthorizer(() => {
    asked += 1;
    return 0;
  });
  const again: string[] = [];
  for (const text of texts) {
    const statement = database.prepare(text);
    const run = (value: number): void => {
      database.exec("BEGIN");
      try {
        statement.all(...valuesFor(text, value));
      } catch {
        // A value that does not fit was met after preparing.
      }
      database.exec("ROLLBACK");
    };
    run(1);
    const before = asked;
    run(2);
    // BEGIN and ROLLBACK ask once each. A page of obligations in one state is looked up by people only.
    if (asked - before > 2 && !/o\.state = \? AND o\.state <> 'done'/.test(text)) again.push(text);
  }
  expect(again).toEqual([]);
});

test("every statement finds its rows by an index", async () => {
  const { texts, database } = await ownStatements();
  const scans: string[] = [];
  for (const text of texts) {
    if (/sqlite_/.test(text)) continue;
    // A count of all rows walks the pages of the narrowest index, of a million at most.
    if (/^SELECT CASE WHEN highest > \d+ THEN highest ELSE \(SELECT count\(\*\) FROM \w+\) END/.test(text)) continue;
    for (const { detail } of database.prepare(`EXPLAIN QUERY PLAN ${text}`).all() as { detail: string }[]) {
      // A part of the unique index on events alone is all events of a connection: only where it is named.
      const owned = /receipts_1 \(connection=\?\)/.test(detail) && !text.includes("INDEXED BY sqlite_autoindex_");
      // A walk back by ids is bounded only where it stops after a page or at a floor.
      const walk = /o USING INTEGER PRIMARY KEY \(rowid<\?\)/.test(detail) && text.includes("o.effect = ?");
      const scan = detail.startsWith("SCAN ") || owned || walk;
      if (scan && !allowed.some((form) => form.test(detail))) scans.push(`${detail}: ${text}`);
    }
  }
  expect(scans).toEqual([]);
});
