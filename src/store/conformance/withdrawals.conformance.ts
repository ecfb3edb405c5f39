import { describe, expect, test } from "vitest";
import { commit, eachBundle, type MakeBundle } from "./bundle.conformance.ts";
import { claimDue, claimedObligation, hookLane, moveOf, obligationDraft, owedId } from "./drafts.conformance.ts";

const tombstone = {
  tenant: "acme",
  operationKey: obligationDraft().operationKey,
  connection: "",
  account: "",
  receiptId: null,
};

/** Taking back what is owed, or will be. */
export function exerciseWithdrawals(make: MakeBundle): void {
  describe("withdrawals", () => {
    const bundle = eachBundle(make);

    test("an operation that nobody owes is kept as withdrawn, and cannot be owed any more", async () => {
      const { store, other } = bundle();
      expect(await commit(store, (tx) => tx.bury(tombstone))).toBe(true);
      const detail = await other.reader.obligation("acme", tombstone.operationKey);
      expect(detail).toMatchObject({
        obligation: { state: "withdrawn", reached: "no", dueAt: null, fence: 0, effect: "" },
        request: null,
        input: null,
      });
      const owed = await commit(other, (tx) => tx.owe([obligationDraft(), obligationDraft({ tenant: "globex" })]));
      expect(owed).toMatchObject([{ kind: "withdrawn", id: detail?.obligation.id }, { kind: "created" }]);
      expect(await claimDue(store)).toHaveLength(1);
      expect((await store.reader.counts()).obligations).toMatchObject({ withdrawn: 1 });
    });

    test("a key that is known is not buried", async () => {
      const { store } = bundle();
      await owedId(store);
      expect(await commit(store, (tx) => tx.bury(tombstone))).toBe(false);
      expect((await store.reader.obligation("acme", tombstone.operationKey))?.obligation.state).toBe("owed");
    });

    test("owing and burying at once leave one row, and both know which", async () => {
      const { store, other } = bundle();
      const keys = Array.from({ length: 20 }, (_, index) => `k${index}`);
      await Promise.all(
        keys.map(async (operationKey) => {
          const [[owed], buried] = await Promise.all([
            commit(store, (tx) => tx.owe([obligationDraft({ operationKey })])),
            commit(other, (tx) => tx.bury({ ...tombstone, operationKey })),
          ]);
          expect([owed?.kind, buried]).toEqual(buried ? ["withdrawn", true] : ["created", false]);
        }),
      );
    });

    test("a request is noted under any fence, makes what waits due now, and is told by every claim and read", async () => {
      const { store, other, clock } = bundle();
      const claim = await claimedObligation(store);
      const { id } = claim.obligation;
      await commit(other, (tx) => tx.requestCancel(id));
      expect(await commit(store, (tx) => tx.cancelRequested([id, id + 1]))).toEqual(new Set([id]));
      expect((await commit(other, (tx) => tx.owe([obligationDraft()])))[0]?.kind).toBe("withdrawn");
      // The fence is the holder's still.
      const later = { state: "owed", dueAt: claim.claimedAt.wallMs + 60_000 } as const;
      expect(await commit(store, (tx) => tx.move([moveOf(claim, later)]))).toEqual([true]);
      await commit(other, (tx) => tx.requestCancel(id));
      clock.advance(1);
      expect(await claimDue(store)).toMatchObject([{ fence: 2, obligation: { cancelRequested: true } }]);
      expect((await other.reader.obligation("acme", tombstone.operationKey))?.obligation.cancelRequested).toBe(true);
    });

    test("what was given up and has a due time is claimed to run its hook, apart from calls", async () => {
      const { store } = bundle();
      const claim = await claimedObligation(store);
      const to = { state: "withdrawn", tries: 0, dueAt: claim.claimedAt.wallMs } as const;
      await commit(store, (tx) => tx.move([moveOf(claim, to)]));
      await commit(store, (tx) => tx.pauseDestination(hookLane.destination, "paused"));
      expect(await commit(store, (tx) => tx.dueLanes())).toEqual([hookLane]);
      expect(await claimDue(store)).toMatchObject([
        { kind: "abandon", fence: 2, answer: null, obligation: { state: "withdrawn", dueAt: null } },
      ]);
    });

    test.each(["withdrawn", "cancelled"] as const)(
      "what is %s and has a hook that failed for good is on the list, and keeps its request",
      async (state) => {
        const { store, clock } = bundle();
        const claim = await claimedObligation(store);
        await commit(store, (tx) => tx.move([moveOf(claim, { state, tries: 3 })]));
        const listed = await store.reader.attention({ limit: 10 });
        expect(listed).toMatchObject([{ kind: "obligation", obligation: { id: claim.obligation.id } }]);
        clock.advance(10);
        const batch = { kind: "requests", olderThanMs: 1, after: 0, limit: 10, dryRun: true } as const;
        expect((await commit(store, (tx) => tx.prune(batch))).count).toBe(0);
        await commit(store, (tx) => tx.move([moveOf(claim, { state, tries: 0 })]));
        expect(await store.reader.attention({ limit: 10 })).toEqual([]);
        clock.advance(10);
        expect((await commit(store, (tx) => tx.prune(batch))).count).toBe(1);
      },
    );
  });
}
