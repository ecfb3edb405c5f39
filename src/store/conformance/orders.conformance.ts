import { describe, expect, test } from "vitest";
import type { OrderKey } from "../../domain/receipt.ts";
import type { ReceiptDraft, SettledReceipt } from "../store.ts";
import { commit, eachBundle, type MakeBundle } from "./bundle.conformance.ts";
import { claimedId, settledReceipt } from "./drafts.conformance.ts";

const far = 3_600_000;

/** Lines of events: who keeps one, and who is next when that one is decided. */
export function exerciseOrders(make: MakeBundle): void {
  describe("lines of events", () => {
    const bundle = eachBundle(make);

    /** Commits an event that stands in line "a", queued for a far time unless said otherwise. */
    const join = async (draft: Partial<ReceiptDraft>, settled: Partial<SettledReceipt> = {}): Promise<number> => {
      const { store } = bundle();
      const id = await claimedId(store, draft);
      await commit(store, (tx) =>
        tx.settleReceipts([settledReceipt({ id, outcome: "queued", dueAt: tx.now + far, orderKey: "a", ...settled })]),
      );
      return id;
    };
    const decide = (id: number, settled: Partial<SettledReceipt> = {}): Promise<readonly boolean[]> =>
      commit(bundle().store, (tx) =>
        tx.settleReceipts([settledReceipt({ id, version: 2, orderKey: "a", ...settled })]),
      );
    const first = (line: Partial<OrderKey> = {}, except = 0): Promise<number | undefined> =>
      commit(bundle().other, async (tx) => {
        const key = { connection: "stripe", account: "", orderKey: "a", ...line };
        await tx.lockOrders([key, key]);
        return (await tx.firstInOrder(key, except))?.id;
      });
    const due = async (): Promise<readonly number[]> => {
      const found = await commit(bundle().store, (tx) => tx.dueReceipts({ limit: 100, connections: ["stripe"] }));
      return found.map(({ id }) => id);
    };

    test("what is queued, held, parked or in conflict keeps its line; what is decided, suspect or quarantined does not", async () => {
      for (const outcome of ["queued", "held", "parked", "conflict"] as const) {
        const id = await join({ eventId: outcome }, { outcome, orderKey: outcome });
        expect(await first({ orderKey: outcome })).toBe(id);
        expect(await first({ orderKey: outcome }, id)).toBeUndefined();
      }
      for (const outcome of ["applied", "stale", "refused", "ignored", "resolved", "suspect", "quarantined"] as const) {
        await join({ eventId: outcome }, { outcome, orderKey: outcome });
        expect(await first({ orderKey: outcome })).toBeUndefined();
      }
    });

    test("a line is of one connection, account and key", async () => {
      await join({});
      for (const other of [{ connection: "github" }, { account: "acct" }, { orderKey: "b" }, { orderKey: "A" }]) {
        expect(await first(other)).toBeUndefined();
      }
    });

    test("an event that is decided without its rank keeps the one that it has", async () => {
      const id = await join({ eventId: "1" }, { rank: "a" });
      await join({ eventId: "2" }, { rank: "b" });
      await decide(id, { outcome: "held", rank: null });
      expect(await first()).toBe(id);
    });

    test("the first of a line is so by rank, then as it came; those without a rank come last", async () => {
      const ids = [
        await join({ eventId: "1" }),
        await join({ eventId: "2" }, { rank: "b" }),
        await join({ eventId: "3" }, { rank: "a" }),
        await join({ eventId: "4" }, { rank: "a" }),
      ];
      const [unranked = 0, b = 0, a = 0, tied = 0] = ids;
      for (const expected of [a, tied, b, unranked]) {
        expect(await first()).toBe(expected);
        await decide(expected);
      }
      expect(await first()).toBeUndefined();
    });

    test("an event that is decided lets the next of its line be due, and nobody else", async () => {
      const head = await join({ eventId: "1" });
      const next = await join({ eventId: "2" });
      await join({ eventId: "3" });
      await join({ eventId: "4" }, { orderKey: "b" });
      await join({ eventId: "5", account: "acct" });
      expect(await due()).toEqual([]);
      await decide(head, { outcome: "held", dueAt: null });
      expect(await due()).toEqual([]);
      await decide(head, { outcome: "resolved", version: 3 });
      expect(await due()).toEqual([next]);
    });

    test("a next one that is held keeps its own time, and those behind it wait on", async () => {
      const head = await join({ eventId: "1" });
      await join({ eventId: "2" }, { outcome: "held", dueAt: null });
      await join({ eventId: "3" });
      await decide(head);
      expect(await due()).toEqual([]);
    });

    test("a decision on an older version releases nobody", async () => {
      const head = await join({ eventId: "1" });
      await join({ eventId: "2" });
      expect(await decide(head, { version: 1 })).toEqual([false]);
      expect(await due()).toEqual([]);
    });

    test("a decision that names no line leaves the event in its own", async () => {
      const id = await join({});
      await decide(id, { outcome: "held", orderKey: null });
      expect((await bundle().store.reader.receipt(id))?.receipt).toMatchObject({ outcome: "held", orderKey: "a" });
      expect(await first()).toBe(id);
    });

    test("events of a line that somebody else decides on are not given as due", async () => {
      const { store, other } = bundle();
      if (!store.capabilities.concurrentWriters) return;
      const held = await join({ eventId: "1" }, { dueAt: 0 });
      const free = await join({ eventId: "2" }, { dueAt: 0, orderKey: "b" });
      await commit(other, async (tx) => {
        await tx.lockOrders([{ connection: "stripe", account: "", orderKey: "a" }]);
        expect(await due()).toEqual([free]);
      });
      expect(await due()).toEqual([held, free]);
    });
  });
}
