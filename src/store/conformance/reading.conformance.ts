import { describe, expect, test } from "vitest";
import { auditTarget } from "../audit-target.ts";
import type { Attention } from "../reader.ts";
import { commit, eachBundle, type MakeBundle } from "./bundle.conformance.ts";
import {
  claimedId,
  claimedObligation,
  moveOf,
  obligationDraft,
  owedId,
  receiptDraft,
  settledReceipt,
} from "./drafts.conformance.ts";

const all = { limit: 100 };

function nameOf(item: Attention): string {
  switch (item.kind) {
    case "destination":
      return item.destination;
    case "connection":
      return item.connection;
    case "effect":
      return item.effect;
    case "resource":
      return item.resource;
    case "refresh":
      return item.refresh.id;
    case "receipt":
      return String(item.receipt.id);
    case "obligation":
      return item.obligation.operationKey;
    default:
      throw new Error(`Bug: no name of ${JSON.stringify(item satisfies never)}`);
  }
}

/** Reads for operators. */
export function exerciseReading(make: MakeBundle): void {
  describe("reading", () => {
    const bundle = eachBundle(make);

    test("an empty store counts nothing and asks for nobody", async () => {
      const { reader } = bundle().store;
      expect(await reader.counts()).toMatchObject({
        receipts: {},
        obligations: {},
        deliveries: 0,
        mismatches: 0,
        refusals: {},
        oldestOwedAt: null,
        pausedDestinations: [],
        refreshes: { owed: 0, failed: 0, due: [] },
        pausedConnections: [],
      });
      expect(await reader.refreshes({}, all)).toEqual([]);
      expect(await reader.attention(all)).toEqual([]);
      expect(await reader.receipt(1)).toBeUndefined();
      expect(await reader.payload(1)).toBeUndefined();
    });

    test("what takes room although it is over is told, by the engine's own measure", async () => {
      const { store } = bundle();
      await owedId(store, { operationKey: "owed" });
      const { deadRows, log } = await store.reader.counts();
      expect([deadRows, log].filter(Boolean)).toHaveLength(1);
      expect(log ?? { bytes: 0, uncopiedBytes: 0 }).toEqual({
        bytes: expect.any(Number),
        uncopiedBytes: expect.any(Number),
      });
      expect(deadRows ?? { count: 0, keptBy: [] }).toEqual({ count: expect.any(Number), keptBy: expect.any(Array) });
    });

    test("counts are by outcome and by state, with the oldest that is still owed", async () => {
      const { store, clock } = bundle();
      const drafts = ["1", "2", "3", "4"].map((eventId) => receiptDraft({ eventId }));
      const claimed = await commit(store, (tx) => tx.claimReceipts(drafts));
      const id = claimed[3]?.kind === "fresh" ? claimed[3].id : 0;
      await commit(store, (tx) => tx.settleReceipts([settledReceipt({ id, outcome: "ignored", reason: "unmapped" })]));
      const done = await claimedObligation(store, { operationKey: "done" });
      await commit(store, (tx) => tx.move([moveOf(done, { state: "done" })]));
      clock.advance(1_000);
      const stuck = await claimedObligation(store, { operationKey: "stuck" });
      await commit(store, (tx) => tx.move([moveOf(stuck, { state: "stuck" })]));
      clock.advance(1_000);
      await owedId(store, { operationKey: "owed" });
      const counts = await store.reader.counts();
      expect(counts).toMatchObject({ receipts: { applied: 3, ignored: 1 }, deliveries: 4 });
      expect(counts).toMatchObject({ obligations: { done: 1, stuck: 1, owed: 1 } });
      expect(counts.oldestOwedAt).toBe(stuck.obligation.createdAt);
    });

    test("receipts are listed newest first, by connection, outcome and event id, in pages", async () => {
      const { store } = bundle();
      const drafts = Array.from({ length: 7 }, (_, index) =>
        receiptDraft({ eventId: `evt_${index % 4}`, connection: index < 4 ? "stripe" : "github" }),
      );
      const claimed = await commit(store, (tx) => tx.claimReceipts(drafts));
      const ids = claimed.map((claim) => (claim.kind === "fresh" ? claim.id : 0));
      await commit(store, (tx) => tx.settleReceipts([settledReceipt({ id: ids[1] ?? 0, outcome: "stale" })]));
      const list = async (...query: Parameters<typeof store.reader.receipts>) =>
        (await store.reader.receipts(...query)).map(({ id }) => ids.indexOf(id));
      expect(await list({}, all)).toEqual([6, 5, 4, 3, 2, 1, 0]);
      expect(await list({}, { limit: 3 })).toEqual([6, 5, 4]);
      expect(await list({}, { limit: 3, before: ids[4] })).toEqual([3, 2, 1]);
      expect(await list({ connection: "github" }, all)).toEqual([6, 5, 4]);
      expect(await list({ eventId: "evt_1" }, all)).toEqual([5, 1]);
      expect(await list({ eventId: "evt_1", connection: "stripe" }, all)).toEqual([1]);
      expect(await list({ outcome: "stale" }, all)).toEqual([1]);
      expect(await list({ outcome: "applied", connection: "stripe" }, all)).toEqual([3, 2, 0]);
      expect(await list({ outcome: "stale", connection: "github" }, all)).toEqual([]);
    });

    test("obligations are listed newest first, by tenant, state, effect and start of the key", async () => {
      const { store } = bundle();
      const keys = [
        "order-1/fulfil/v1",
        "order-1/mail/v1",
        "order-10/fulfil/v1",
        "ORDER-1/x",
        "order_1/x",
        "order-1%2Fx",
      ];
      for (const operationKey of keys) await owedId(store, { operationKey });
      await owedId(store, { operationKey: "order-1/fulfil/v1", tenant: "globex", effect: "mail/v1" });
      await claimedObligation(store, { operationKey: "claimed" });
      const list = async (...query: Parameters<typeof store.reader.obligations>) =>
        (await store.reader.obligations(...query)).map(({ operationKey }) => operationKey);
      expect(await list({ tenant: "globex" }, all)).toEqual(["order-1/fulfil/v1"]);
      expect(await list({ tenant: "acme", keyPrefix: "order-1/" }, all)).toEqual([
        "order-1/mail/v1",
        "order-1/fulfil/v1",
      ]);
      expect(await list({ keyPrefix: "order-1/fulfil" }, all)).toEqual(["order-1/fulfil/v1", "order-1/fulfil/v1"]);
      expect(await list({ tenant: "acme", keyPrefix: "order_" }, all)).toEqual(["order_1/x"]);
      expect(await list({ keyPrefix: "order-1%" }, all)).toEqual(["order-1%2Fx"]);
      expect(await list({ effect: "mail/v1" }, all)).toEqual(["order-1/fulfil/v1"]);
      expect(await list({ state: "done" }, all)).toEqual([]);
      expect(await list({ state: "sending" }, { limit: 2 })).toHaveLength(2);
      const [newest] = await store.reader.obligations({}, { limit: 1 });
      expect(newest?.operationKey).toBe("claimed");
      const older = await store.reader.obligations({}, { limit: 2, before: newest?.id });
      expect(older.map(({ tenant }) => tenant)).toEqual(["globex", "acme"]);
    });

    test("what needs an operator is listed, and what goes on by itself is not", async () => {
      const { store, clock } = bundle();
      const settle = async (eventId: string, decision: Partial<Parameters<typeof settledReceipt>[0]>) => {
        const id = await claimedId(store, { eventId });
        await commit(store, (tx) => tx.settleReceipts([settledReceipt({ id, ...decision })]));
      };
      const soon = (await commit(store, async (tx) => tx.now)) + 5_000;
      await settle("applied", {});
      await settle("queued", { outcome: "queued", dueAt: soon });
      await settle("held", { outcome: "held", dueAt: soon });
      await settle("parked", { outcome: "parked", dueAt: soon, deadlineAt: soon + 60_000 });
      await settle("conflict", { outcome: "conflict" });
      await settle("quarantined", { outcome: "quarantined" });
      await settle("given up", { outcome: "held" });
      await settle("too late", { outcome: "parked", dueAt: soon, deadlineAt: soon });
      const move = async (operationKey: string, to: Parameters<typeof moveOf>[1], keepLease = false) => {
        const claim = await claimedObligation(store, { operationKey });
        await commit(store, (tx) => tx.move([moveOf(claim, to, { keepLease })]));
      };
      await move("done", { state: "done" });
      await move("cancelled", { state: "cancelled" });
      await move("owed", { state: "owed", dueAt: soon });
      await move("looked up later", { state: "uncertain", dueAt: soon });
      await move("hook runs", { state: "settling" }, true);
      await move("stuck", { state: "stuck" });
      await move("nobody looks", { state: "uncertain" });
      await move("hook failed", { state: "settling" });
      await commit(store, (tx) => tx.pauseDestination("https://paused.example", "401"));
      clock.advance(5_000);
      const names = (await store.reader.attention(all)).map((item) =>
        item.kind === "receipt" ? item.receipt.eventId : nameOf(item),
      );
      expect(names.toSorted()).toEqual(
        [
          "conflict",
          "quarantined",
          "given up",
          "too late",
          "stuck",
          "nobody looks",
          "hook failed",
          "https://paused.example",
        ].toSorted(),
      );
      const few = await store.reader.attention({ limit: 3 });
      expect(few.map(({ kind }) => kind).toSorted()).toEqual(["destination", "obligation", "receipt"]);
    });

    test("what needs an operator comes in pages: each thing once, whatever is decided meanwhile", async () => {
      const { store, clock } = bundle();
      const now = await commit(store, async (tx) => tx.now);
      const past = { dueAt: now, deadlineAt: now + 1_000 };
      const decisions: readonly Partial<Parameters<typeof settledReceipt>[0]>[] = [
        { outcome: "conflict" },
        { outcome: "held" },
        { outcome: "parked", ...past },
        { outcome: "parked", ...past, dueAt: null },
        { outcome: "held", dueAt: now },
        { outcome: "applied" },
      ];
      const payload = { bytes: new Uint8Array(), headers: "[]" };
      const ids: number[] = [];
      for (const [index, decision] of [...decisions, ...decisions].entries()) {
        const id = await claimedId(store, { eventId: `evt_${index}` });
        ids.push(id);
        await commit(store, async (tx) => {
          await tx.settleReceipts([settledReceipt({ id, ...decision })]);
          await tx.recordRedeliveries([{ receiptId: id, mismatch: { digest: "other", payload } }]);
        });
      }
      for (const name of ["https://a.example", "https://b.example"]) {
        await commit(store, (tx) => tx.pauseDestination(name, "401"));
      }
      for (const id of ["shops/a", "shops/b"]) await commit(store, (tx) => tx.pauseConnection(id, "a mend"));
      for (const operationKey of ["1", "2", "3"]) {
        const claim = await claimedObligation(store, { operationKey });
        await commit(store, (tx) => tx.move([moveOf(claim, { state: "stuck" })]));
      }
      clock.advance(3_600_000);
      const everything = [...ids, "https://a.example", "https://b.example", "shops/a", "shops/b", "1", "2", "3"]
        .map(String)
        .toSorted();
      for (const limit of [1, 2, 5, 100]) {
        const seen: string[] = [];
        for (let after: string | undefined; ;) {
          const page = await store.reader.attention({ limit, after });
          seen.push(...page.map(nameOf));
          if (page.length < limit) break;
          after = page.at(-1)?.cursor;
        }
        expect(seen.toSorted()).toEqual(everything);
      }
      const [first, ...rest] = await store.reader.attention(all);
      await commit(store, (tx) => tx.pauseDestination("https://a.example", null));
      await commit(store, (tx) => tx.acknowledgeMismatches(ids[5] ?? 0));
      const names = (items: readonly Attention[]) => items.map(nameOf).toSorted();
      const left = rest.filter((item) => nameOf(item) !== String(ids[5]));
      expect(names(await store.reader.attention({ limit: 100, after: first?.cursor }))).toEqual(names(left));
      await expect(store.reader.attention({ limit: 1, after: "page 2" })).rejects.toThrow(RangeError);
    });

    test("what is long due and applied by nobody needs an operator", async () => {
      const { store, clock } = bundle();
      const id = await claimedId(store);
      const now = await commit(store, async (tx) => tx.now);
      await commit(store, (tx) => tx.settleReceipts([settledReceipt({ id, outcome: "held", dueAt: now })]));
      clock.advance(3_599_000);
      expect(await store.reader.attention(all)).toEqual([]);
      clock.advance(1_000);
      expect(await store.reader.attention(all)).toMatchObject([{ kind: "receipt", receipt: { id } }]);
    });

    test("audit entries are found at what they are about, in order, with the store's instant", async () => {
      const { store, clock } = bundle();
      const id = await claimedId(store);
      const obligationId = await owedId(store);
      const entry = { who: "alice", action: "apply", why: "by hand", before: "held", after: "applied" };
      const first = await commit(store, async (tx) => {
        await tx.audit({ ...entry, target: auditTarget("receipt", id) });
        return tx.now;
      });
      clock.advance(1_000);
      const bare = { ...entry, why: null, before: null, after: null };
      await commit(store, (tx) => tx.audit({ ...bare, target: auditTarget("receipt", id) }));
      await commit(store, (tx) => tx.audit({ ...entry, target: auditTarget("obligation", obligationId) }));
      const target = auditTarget("receipt", id);
      expect((await store.reader.receipt(id))?.audit).toEqual([
        { ...entry, target, at: first },
        { ...bare, target, at: first + 1_000 },
      ]);
      const detail = await store.reader.obligation("acme", obligationDraft().operationKey);
      expect(detail?.audit).toMatchObject([{ action: "apply" }]);
    });

    test("refused deliveries are kept in a ring, newest first, and counted by cause", async () => {
      const { store } = bundle();
      const refusal = (index: number) => ({
        at: index,
        connection: "stripe",
        cause: `cause-${index % 2}`,
        facts: "{}",
      });
      const refusals = Array.from({ length: 1_010 }, (_, index) => refusal(index));
      await commit(store, (tx) => tx.recordRefusals(refusals.slice(0, 5)));
      await commit(store, (tx) => tx.recordRefusals(refusals.slice(5)));
      await commit(store, (tx) => tx.recordRefusals([]));
      expect(await store.reader.refusals({ limit: 2 })).toEqual([refusal(1_009), refusal(1_008)]);
      expect(await store.reader.refusals({ limit: 1_000 })).toHaveLength(1_000);
      expect((await store.reader.counts()).refusals).toEqual({ "cause-0": 500, "cause-1": 500 });
    });

    test("reads see nothing of an open transaction", async () => {
      const { store, other } = bundle();
      const seen: Promise<number>[] = [];
      await commit(store, async (tx) => {
        await tx.claimReceipts([receiptDraft()]);
        seen.push(other.reader.counts().then(({ deliveries }) => deliveries));
        if (!store.capabilities.handlersSettleAtOnce) await Promise.all(seen);
      });
      expect(await Promise.all(seen)).toEqual([0]);
      expect((await other.reader.counts()).deliveries).toBe(1);
    });
  });
}
