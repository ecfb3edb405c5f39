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

/** Every write of the store's, some of them in more than one way; of an empty store. */
export async function useEverything(store: Store): Promise<void> {
  const replay = { digest: "content", windowMs: 5_000 };
  const id = await claimedId(store, { replay });
  await commit(store, async (tx) => {
    await tx.claimReceipts([receiptDraft({ replay }), receiptDraft({ eventId: "evt_2", replay })]);
    const [held] = await tx.claimReceipts([receiptDraft({ eventId: "evt_3" })]);
    const heldId = held?.kind === "fresh" ? held.id : 0;
    const waitsFor = { kind: "order", id: "1" };
    await tx.settleReceipts([settledReceipt({ id: heldId, outcome: "parked", dueAt: tx.now, waitsFor })]);
    await tx.settleReceipts([settledReceipt({ id, bytesExpireAt: "now" })]);
    const payload = { bytes: new Uint8Array(), headers: "[]" };
    await tx.recordRedeliveries([{ receiptId: id, mismatch: { digest: "other", payload } }]);
    await tx.acknowledgeMismatches(id);
    await tx.expireBytes(1);
    await tx.dueReceipts({ limit: 1, connections: ["stripe"] });
    await tx.startReceipts([heldId], 0);
    await tx.returnReceipts([{ id: heldId, version: 2 }]);
    await tx.lockReceipts([heldId]);
    await tx.lockReceipt(id);
    await tx.lockNames("acme", [waitsFor]);
    await tx.arrive("acme", waitsFor);
    await tx.discardReceipts([heldId]);
    for (const revision of ["2", "1"]) await tx.snapshot(snapshotDraft({ revision }));
    await tx.audit({ who: "", action: "", target: "", why: null, before: null, after: null });
    await tx.recordRefusals([{ at: 1, connection: "", cause: "", facts: "" }]);
    await tx.touch();
    await tx.pauseDestination("elsewhere", null);
    await tx.pauseConnection("elsewhere", null);
    await tx.owe([obligationDraft({ operationKey: "k2" })]);
    await tx.owe([obligationDraft({ operationKey: "k2" })]);
    await tx.lockObligation("acme", "k2");
    await tx.dueLanes();
    await tx.dueLanes();
    await tx.seeWorker({ name: "w", effects: [], forgetMs: 1 });
    await tx.leaveWorker("w");
    await tx.claimNotices({ keys: ["effect/a", "effect/b"], leaseMs: 1 });
    await tx.settleNotices(["effect/a"], true);
    await tx.settleNotices(["effect/b"], false);
    await tx.forgetNotices(["effect/a"], []);
    await tx.clampDue({
      receiptsMs: 1e13,
      deadlinesMs: 1e13,
      refreshesMs: 1e13,
      obligations: [{ effect: "ship/v1", withinMs: 1e13 }],
    });
    for (const kind of prunableKinds) await tx.prune({ kind, olderThanMs: 1e13, after: 0, limit: 10, dryRun: false });
  });
  const claim = await claimedObligation(store, { receiptId: id });
  await commit(store, async (tx) => {
    await tx.renew([{ obligationId: claim.obligation.id, fence: claim.fence }], 1_000);
    await tx.expiredLeases(1);
    await tx.evidence([claim.obligation.id]);
    await tx.move([moveOf(claim, {}, { keepLease: true, attempt: attemptEnd(), answer })]);
    await tx.move([moveOf(claim, { state: "settling", dueAt: tx.now })]);
    await tx.move([moveOf({ ...claim, fence: 99 }, { state: "done" }, { attempt: attemptEnd() })]);
  });
  await claimDue(store);
  const done = await claimedObligation(store, { operationKey: "k3" });
  await commit(store, (tx) => tx.move([moveOf(done, { state: "done" }, { attempt: attemptEnd() })]));
  await commit(store, (tx) => tx.lockObligation("acme", "k3"));
}

/** Every read of the store's, with the filters that make different statements. */
export async function readEverything({ reader }: Store): Promise<void> {
  const page = { limit: 2, before: 900_000 };
  await reader.attention({ limit: 2 });
  await reader.counts();
  await reader.dueConnections({ except: ["stripe"], after: "", limit: 1 });
  await reader.receipt(1);
  await reader.payload(1);
  await reader.obligation("tenant_1", "old/1");
  await reader.refusals(page);
  await reader.refreshes({ connection: "stripe" }, { limit: 2 });
  await reader.snapshot(snapshotDraft());
  for (const connection of [undefined, "stripe", "nobody's"]) {
    for (const outcome of [undefined, "held", "applied"] as const) {
      for (const eventId of [undefined, "old_1"]) await reader.receipts({ connection, outcome, eventId }, page);
    }
  }
  for (const tenant of [undefined, "tenant_1", "nobody's"]) {
    for (const state of [undefined, "stuck", "done"] as const) {
      for (const keyPrefix of [undefined, "old/1"]) await reader.obligations({ tenant, state, keyPrefix }, page);
      for (const effect of ["ship/v1", "nobody/v1"]) await reader.obligations({ tenant, state, effect }, page);
    }
  }
}
