import { describe, expect, test } from "vitest";
import type { ObligationState } from "../../domain/obligation.ts";
import type { Store } from "../store.ts";
import { commit, eachBundle, type MakeBundle } from "./bundle.conformance.ts";
import { claimDue, moveOf, obligationDraft, owedId } from "./drafts.conformance.ts";

const orderKey = "acme/customer-1";

async function claimedKeys(store: Store): Promise<string[]> {
  return (await claimDue(store)).map(({ obligation }) => obligation.operationKey);
}

/** When an obligation may be claimed: not before a time, and not before others of its order key. */
export function exerciseEffectOrders(make: MakeBundle): void {
  describe("a time that was wished for", () => {
    const bundle = eachBundle(make);

    test("is when the first claim may come, and no mended clock brings it nearer", async () => {
      const { store, clock } = bundle();
      const notBefore = (await commit(store, async (tx) => tx.now)) + 60_000;
      await owedId(store, { notBefore });
      const bounds = {
        receiptsMs: 1,
        deadlinesMs: 1,
        refreshesMs: 1,
        obligations: [{ effect: "ship/v1", withinMs: 1_000 }],
      };
      expect(await commit(store, (tx) => tx.clampDue(bounds))).toBe(0);
      expect(await claimDue(store)).toEqual([]);
      clock.advance(60_000);
      expect(await claimDue(store)).toMatchObject([{ obligation: { notBefore } }]);
    });

    test("that has passed is now", async () => {
      const { store } = bundle();
      const now = await commit(store, async (tx) => tx.now);
      await owedId(store, { notBefore: now - 60_000 });
      const { obligation } = (await store.reader.obligation("acme", obligationDraft().operationKey)) ?? {};
      expect(obligation?.dueAt).toBeGreaterThanOrEqual(now);
    });

    test("that a clock put further away than that is brought back to it", async () => {
      const { store, clock } = bundle();
      const notBefore = (await commit(store, async (tx) => tx.now)) + 60_000;
      await owedId(store, { notBefore });
      clock.advance(60_000);
      const [claim] = await claimDue(store);
      if (!claim) throw new Error("Cannot go on: nothing was claimed");
      await commit(store, (tx) => tx.move([moveOf(claim, { state: "owed", dueAt: tx.now + 1e9 })]));
      const bounds = {
        receiptsMs: 1,
        deadlinesMs: 1,
        refreshesMs: 1,
        obligations: [{ effect: "ship/v1", withinMs: 1_000 }],
      };
      expect(await commit(store, (tx) => tx.clampDue(bounds))).toBe(1);
      clock.advance(1_000);
      expect(await claimDue(store)).toHaveLength(1);
    });
  });

  describe("order keys", () => {
    const bundle = eachBundle(make);

    test("only the first of a key is due, whether owed in one call or in several", async () => {
      const { store, other } = bundle();
      const draft = (operationKey: string): ReturnType<typeof obligationDraft> =>
        obligationDraft({ operationKey, orderKey });
      await commit(store, (tx) => tx.owe([draft("a"), draft("b"), obligationDraft({ operationKey: "free" })]));
      await commit(other, (tx) => tx.owe([draft("c"), obligationDraft({ operationKey: "x", orderKey: "acme/other" })]));
      expect((await store.reader.obligation("acme", "c"))?.waitsBehind).toEqual({ operationKey: "a", state: "owed" });
      expect((await store.reader.obligation("acme", "a"))?.waitsBehind).toBeNull();
      expect((await claimedKeys(store)).toSorted()).toEqual(["a", "free", "x"]);
      expect(await claimedKeys(other)).toEqual([]);
    });

    test.each<[ObligationState, boolean]>([
      ["owed", false],
      ["uncertain", false],
      ["stuck", false],
      ["settling", true],
      ["done", true],
      ["withdrawn", true],
      ["cancelled", true],
    ])("one that is %s lets the next of its key go: %s", async (state, goes) => {
      const { store } = bundle();
      await owedId(store, { operationKey: "a", orderKey });
      await owedId(store, { operationKey: "b", orderKey });
      await owedId(store, { operationKey: "c", orderKey });
      const [claim] = await claimDue(store);
      if (!claim) throw new Error("Cannot go on: nothing was claimed");
      await commit(store, (tx) => tx.move([moveOf(claim, { state, dueAt: null })]));
      expect(await claimedKeys(store)).toEqual(goes ? ["b"] : []);
    });

    test("one that is taken out of the middle lets nothing overtake the first", async () => {
      const { store } = bundle();
      for (const operationKey of ["a", "b", "c"]) await owedId(store, { operationKey, orderKey });
      const waiting = (await store.reader.obligation("acme", "b"))?.obligation;
      if (!waiting) throw new Error("Cannot go on: it is not there");
      const claim = { obligation: waiting, fence: 0 };
      await commit(store, (tx) => tx.move([moveOf(claim, { state: "cancelled" }, { raiseFence: true })]));
      const [first] = await claimDue(store);
      expect(first?.obligation.operationKey).toBe("a");
      if (!first) return;
      await commit(store, (tx) => tx.move([moveOf(first, { state: "done" })]));
      expect(await claimedKeys(store)).toEqual(["c"]);
    });

    test("one that is owed again waits for the earlier ones that are not decided, whatever its move says", async () => {
      const { store } = bundle();
      for (const operationKey of ["a", "b"]) await owedId(store, { operationKey, orderKey });
      const [first] = await claimDue(store);
      const waiting = (await store.reader.obligation("acme", "b"))?.obligation;
      if (!first || !waiting) throw new Error("Cannot go on: they are not there");
      const later = { obligation: waiting, fence: 0 };
      const byOperator = { raiseFence: true };
      await commit(store, (tx) => tx.move([moveOf(first, { state: "uncertain" })]));
      await commit(store, (tx) => tx.move([moveOf(later, { state: "uncertain" }, byOperator)]));
      const again = { ...later, fence: 1 };
      await commit(store, (tx) => tx.move([moveOf(again, { state: "owed", dueAt: tx.now }, byOperator)]));
      expect(await claimedKeys(store)).toEqual([]);
      expect(await store.reader.obligation("acme", "b")).toMatchObject({
        obligation: { state: "owed", dueAt: null },
        waitsBehind: { operationKey: "a", state: "uncertain" },
      });
      await commit(store, (tx) => tx.move([moveOf(first, { state: "owed", dueAt: tx.now })]));
      expect(await claimedKeys(store)).toEqual(["a"]);
      const fence = first.fence + 1;
      await commit(store, (tx) => tx.move([moveOf({ ...first, fence }, { state: "done" })]));
      expect(await claimedKeys(store)).toEqual(["b"]);
    });

    test("a wish for a later time is kept when its turn comes", async () => {
      const { store, clock } = bundle();
      const now = await commit(store, async (tx) => tx.now);
      await owedId(store, { operationKey: "a", orderKey });
      await owedId(store, { operationKey: "b", orderKey, notBefore: now + 60_000 });
      const [claim] = await claimDue(store);
      if (!claim) throw new Error("Cannot go on: nothing was claimed");
      await commit(store, (tx) => tx.move([moveOf(claim, { state: "done" })]));
      expect(await claimedKeys(store)).toEqual([]);
      clock.advance(60_000);
      expect(await claimedKeys(store)).toEqual(["b"]);
    });

    test("whoever owes while the one before ends, nothing waits behind nothing", { timeout: 60_000 }, async () => {
      const { store, other } = bundle();
      for (let round = 0; round < 20; round += 1) {
        const key = `acme/round-${round}`;
        await owedId(store, { operationKey: `${key}/a`, orderKey: key });
        const [claim] = await claimDue(store);
        if (!claim) throw new Error("Cannot go on: nothing was claimed");
        await Promise.all([
          commit(store, (tx) => tx.move([moveOf(claim, { state: "done" })])),
          commit(other, (tx) => tx.owe([obligationDraft({ operationKey: `${key}/b`, orderKey: key })])),
        ]);
        const [next] = await claimDue(store);
        expect(next?.obligation.operationKey).toBe(`${key}/b`);
        if (next) await commit(store, (tx) => tx.move([moveOf(next, { state: "done" })]));
      }
    });

    test("a walk frees what could not be freed when it should have been, and nothing else", async () => {
      const { store } = bundle();
      for (const operationKey of ["a", "b"]) await owedId(store, { operationKey, orderKey });
      await owedId(store, { operationKey: "z", orderKey: "acme/z" });
      expect(await commit(store, (tx) => tx.freeOrders("", 10))).toEqual({ freed: 0, next: null });
      // As a transaction leaves it that saw an older state of the database.
      const first = (await store.reader.obligation("acme", "a"))?.obligation;
      if (!first) throw new Error("Cannot go on: it is not there");
      await commit(store, (tx) =>
        tx.move([moveOf({ obligation: first, fence: 0 }, { state: "owed", dueAt: null }, { raiseFence: true })]),
      );
      expect(await commit(store, (tx) => tx.freeOrders("", 1))).toEqual({ freed: 1, next: orderKey });
      expect(await commit(store, (tx) => tx.freeOrders(orderKey, 1))).toEqual({ freed: 0, next: "acme/z" });
      expect((await claimedKeys(store)).toSorted()).toEqual(["a", "z"]);
    });
  });
}
