import { describe, expect, test } from "vitest";
import type { ReceiptDraft, SettledReceipt } from "../store.ts";
import { commit, eachBundle, type MakeBundle } from "./bundle.conformance.ts";
import { bytesOf, claimedId, receiptDraft, settledReceipt } from "./drafts.conformance.ts";

const order = { kind: "order", id: "1042" };

/** Events that are held or parked: what is due, and what an arrival makes due. */
export function exerciseOpenReceipts(make: MakeBundle): void {
  describe("open receipts", () => {
    const bundle = eachBundle(make);

    /** Commits an event with an open outcome, due in `dueInMs`. */
    const open = async (
      draft: Partial<ReceiptDraft>,
      { dueInMs = 0, ...decision }: Partial<SettledReceipt> & { readonly dueInMs?: number } = {},
    ): Promise<number> => {
      const { store } = bundle();
      const id = await claimedId(store, draft);
      await commit(store, (tx) =>
        tx.settleReceipts([settledReceipt({ id, outcome: "held", dueAt: tx.now + dueInMs, ...decision })]),
      );
      return id;
    };
    const due = async (connections: readonly string[] = ["stripe"], limit = 100): Promise<readonly number[]> => {
      const found = await commit(bundle().store, (tx) => tx.dueReceipts({ limit, connections }));
      return found.map(({ id }) => id);
    };
    const lock = (ids: readonly number[]) => commit(bundle().store, (tx) => tx.lockReceipts(ids));
    const start = (ids: readonly number[], leaseMs = 60_000) =>
      commit(bundle().store, (tx) => tx.startReceipts(ids, leaseMs));
    const startsOf = async (id: number) => (await bundle().store.reader.receipt(id))?.receipt.starts;
    const arrive = (tenant: string, name: typeof order): Promise<number> =>
      commit(bundle().other, async (tx) => {
        await tx.lockNames(tenant, [name]);
        return tx.arrive(tenant, name);
      });

    test("a held event is due at its time, with its bytes", async () => {
      const { store, clock } = bundle();
      const payload = { bytes: bytesOf("held"), headers: "[]" };
      const id = await open({ payload }, { dueInMs: 5_000, tries: 1, reason: "TypeError" });
      clock.advance(4_999);
      expect(await due()).toEqual([]);
      clock.advance(1);
      const found = await commit(store, (tx) => tx.dueReceipts({ limit: 1, connections: ["stripe"] }));
      expect(found).toMatchObject([{ id, outcome: "held", tries: 1, starts: 0, version: 2 }]);
      expect(await lock([id])).toMatchObject([{ receipt: found[0], payload }]);
    });

    test("an event that waits for an operator is never due", async () => {
      await open({}, { dueAt: null });
      bundle().clock.advance(100_000_000);
      expect(await due()).toEqual([]);
    });

    test("an event whose bytes are gone is due without them", async () => {
      const id = await open({}, { bytesExpireAt: "now" });
      expect(await due()).toEqual([id]);
      expect(await lock([id])).toMatchObject([{ receipt: { id }, payload: null }]);
    });

    test("the connections of what is due are told, apart from those that are named", async () => {
      const { store, clock } = bundle();
      await open({ eventId: "1" });
      await open({ eventId: "2", connection: "shops/a" });
      await open({ eventId: "3", connection: "shops/a" });
      await open({ eventId: "4", connection: "shops/b" }, { dueInMs: 5_000 });
      await open({ eventId: "5", connection: "shops/c" }, { dueAt: null });
      const told = (except: readonly string[], limit = 9, after = "") =>
        store.reader.dueConnections({ except, after, limit });
      expect(await told([])).toEqual(["shops/a", "stripe"]);
      expect(await told(["stripe", "other"])).toEqual(["shops/a"]);
      clock.advance(5_000);
      expect(await told(["stripe"])).toEqual(["shops/a", "shops/b"]);
      expect(await told([], 2)).toEqual(["shops/a", "shops/b"]);
      expect(await told([], 2, "shops/b")).toEqual(["stripe"]);
      expect(await told([], 2, "stripe")).toEqual([]);
    });

    test("events of a paused connection are given to nobody until it is resumed, and a fresh one is told apart", async () => {
      const { store, other, clock } = bundle();
      const first = await open({ eventId: "1" });
      const second = await open({ eventId: "2", connection: "github" });
      await commit(other, (tx) => tx.pauseConnection("stripe", "a mend"));
      const fresh = (eventId: string, connection = "stripe") =>
        commit(store, (tx) => tx.claimReceipts([receiptDraft({ eventId, connection })]));
      expect(await fresh("3")).toMatchObject([{ kind: "fresh", paused: true }]);
      expect(await fresh("3", "github")).not.toHaveProperty("0.paused");
      expect(await due(["github", "stripe"])).toEqual([second]);
      expect(await store.reader.dueConnections({ except: [], after: "", limit: 9 })).toEqual(["github"]);
      expect((await store.reader.counts()).pausedConnections).toEqual([{ connection: "stripe", reason: "a mend" }]);
      clock.advance(3_600_000);
      expect((await store.reader.attention({ limit: 9 })).map(({ kind }) => kind)).toEqual(["receipt", "connection"]);
      await commit(other, (tx) => tx.pauseConnection("stripe", null));
      expect(await due(["github", "stripe"])).toEqual([first, second]);
      expect(await fresh("4")).not.toHaveProperty("0.paused");
      expect(await store.reader.pausedConnections()).toEqual([]);
    });

    test("only the named connections' events are given, and no more than asked", async () => {
      const first = await open({ eventId: "1" });
      const second = await open({ eventId: "2", connection: "github" });
      const third = await open({ eventId: "3" });
      expect(await due(["stripe"])).toEqual([first, third]);
      expect(await due(["github", "stripe"])).toEqual([first, second, third]);
      expect(await due(["stripe"], 1)).toEqual([first]);
      expect(await due([])).toEqual([]);
      expect(await due(["other"])).toEqual([]);
    });

    test("what is due comes by rank, as bytes, and then by id; unranked events come last", async () => {
      const unranked = await open({ eventId: "1" });
      const late = await open({ eventId: "2" }, { rank: "b" });
      const early = await open({ eventId: "3" }, { rank: "a" });
      const upper = await open({ eventId: "4" }, { rank: "B" });
      const tied = await open({ eventId: "5" }, { rank: "a" });
      expect(await due()).toEqual([upper, early, tied, late, unranked]);
      const locked = await lock([unranked, late, early, upper, tied, 1e6]);
      expect(locked.map(({ receipt }) => receipt.id)).toEqual([upper, early, tied, late, unranked]);
      expect(locked.map(({ rank }) => rank)).toEqual(["B", "a", "a", "b", null]);
      expect(await due(["stripe"], 2)).toEqual([upper, early]);
    });

    test("a start is counted, and its event is due again once the lease has ended", async () => {
      const { clock } = bundle();
      const [first, second] = [await open({ eventId: "1" }), await open({ eventId: "2" })];
      await start([first], 5_000);
      expect(await due()).toEqual([second]);
      clock.advance(5_000);
      expect(await due()).toEqual([first, second]);
      await start([first, second], 5_000);
      expect([await startsOf(first), await startsOf(second)]).toEqual([2, 1]);
      expect((await lock([first]))[0]?.receipt).toMatchObject({ outcome: "held", starts: 2, version: 2 });
    });

    test("a start that is taken back counts no more, and its event is due at once", async () => {
      const id = await open({});
      for (const counted of [1, 2]) {
        await start([id], 0);
        expect(await startsOf(id)).toBe(counted);
      }
      await start([id]);
      await commit(bundle().store, (tx) => tx.returnReceipts([{ id, version: 2 }]));
      expect(await startsOf(id)).toBe(2);
      expect(await due()).toEqual([id]);
    });

    test("a decision says which starts still count, and what it decided is not given back", async () => {
      const { store } = bundle();
      const [first, second] = [await open({ eventId: "1" }), await open({ eventId: "2" })];
      await start([first, second]);
      await commit(store, (tx) =>
        tx.settleReceipts([
          settledReceipt({ id: first, version: 2 }),
          settledReceipt({ id: second, version: 2, outcome: "queued", starts: 1, dueAt: tx.now + 5_000 }),
        ]),
      );
      const given = [first, second].map((id) => ({ id, version: 2 }));
      await commit(store, (tx) => tx.returnReceipts(given));
      expect([await startsOf(first), await startsOf(second)]).toEqual([0, 1]);
      expect(await due()).toEqual([]);
    });

    test("an arrival makes exactly the events due that are parked on its name", async () => {
      const parked = { outcome: "parked", waitsFor: order, dueInMs: 60_000 } as const;
      const first = await open({ eventId: "1" }, parked);
      await open({ eventId: "2" }, { ...parked, waitsFor: { kind: "order", id: "1043" } });
      await open({ eventId: "3" }, { ...parked, waitsFor: { kind: "parcel", id: "1042" } });
      await open({ eventId: "4", tenant: "globex" }, parked);
      const fifth = await open({ eventId: "5", connection: "github" }, { ...parked, dueAt: null });
      expect(await due(["stripe", "github"])).toEqual([]);
      expect((await bundle().store.reader.receipt(first))?.waitsFor).toEqual(order);
      expect(await arrive("acme", order)).toBe(2);
      expect(await due(["stripe", "github"])).toEqual([first, fifth]);
    });

    test("an arrival does not change the version, and never makes an event later", async () => {
      const { store, clock } = bundle();
      const id = await open({}, { outcome: "parked", waitsFor: order });
      const before = (await store.reader.receipt(id))?.receipt;
      clock.advance(1_000);
      await arrive("acme", order);
      expect((await store.reader.receipt(id))?.receipt).toEqual(before);
    });

    test("an event that was decided since does not wait any more", async () => {
      const { store } = bundle();
      const id = await open({}, { outcome: "parked", waitsFor: order });
      await commit(store, (tx) => tx.settleReceipts([settledReceipt({ id, version: 2 })]));
      expect(await arrive("acme", order)).toBe(0);
      expect(await due()).toEqual([]);
      expect((await store.reader.receipt(id))?.waitsFor).toBeNull();
    });

    test("an arrival sees a park of its own transaction", async () => {
      const { store } = bundle();
      const parkedId = await claimedId(store);
      const woken = await commit(store, async (tx) => {
        await tx.settleReceipts([settledReceipt({ id: parkedId, outcome: "parked", waitsFor: order })]);
        return tx.arrive("acme", order);
      });
      expect(woken).toBe(1);
    });

    test("one receipt is read with its bytes, whatever its outcome", async () => {
      const { store } = bundle();
      const id = await claimedId(store);
      expect(await commit(store, (tx) => tx.lockReceipt(id))).toMatchObject({
        receipt: { id, outcome: "applied" },
        payload: { bytes: bytesOf('{"id":"evt_1"}') },
      });
      expect(await commit(store, (tx) => tx.lockReceipt(id + 1))).toBeUndefined();
    });
  });
}
