import { describe, expect, test } from "vitest";
import { commit, eachBundle, type MakeBundle } from "./bundle.conformance.ts";
import { claimDue, claimedObligation, moveOf, owedId } from "./drafts.conformance.ts";

/** Leases: they end by the store's clock, not by anybody's word. */
export function exerciseLeases(make: MakeBundle): void {
  describe("leases", () => {
    const bundle = eachBundle(make);
    const expired = (limit = 10) => commit(bundle().other, (tx) => tx.expiredLeases(limit));

    test("a lease ends at its time, and is then found with what its holder was doing", async () => {
      const { store, clock } = bundle();
      const claim = await claimedObligation(store);
      clock.advance(59_999);
      expect(await expired()).toEqual([]);
      clock.advance(1);
      const { obligation, claimedAt } = claim;
      expect(await expired()).toEqual([{ obligation, kind: "send", claimedAt }]);
      expect((await store.reader.obligation("acme", obligation.operationKey))?.lease).toMatchObject({ live: false });
    });

    test("an expired lease is found until somebody moves it, at most as many as asked", async () => {
      const { store, clock } = bundle();
      for (const operationKey of ["k1", "k2", "k3"]) await owedId(store, { operationKey });
      const claims = await claimDue(store);
      clock.advance(60_000);
      expect(await expired(2)).toHaveLength(2);
      expect(await expired()).toHaveLength(3);
      await commit(store, (tx) =>
        tx.move(claims.map((claim) => moveOf(claim, { state: "owed", dueAt: tx.now }, { raiseFence: true }))),
      );
      expect(await expired()).toEqual([]);
    });

    test("a renewed lease lasts from the renewal; the stamp of its claim stays", async () => {
      const { store, clock } = bundle();
      const claim = await claimedObligation(store);
      const held = [{ obligationId: claim.obligation.id, fence: claim.fence }];
      clock.advance(50_000);
      expect(await commit(store, (tx) => tx.renew(held, 60_000))).toEqual([true]);
      clock.advance(59_999);
      expect(await expired()).toEqual([]);
      clock.advance(1);
      expect(await expired()).toMatchObject([{ claimedAt: claim.claimedAt }]);
    });

    test("a lease that has ended cannot be renewed, even if nobody took it", async () => {
      const { store, clock } = bundle();
      const first = await claimedObligation(store, { operationKey: "k1" });
      clock.advance(30_000);
      const second = await claimedObligation(store, { operationKey: "k2" });
      clock.advance(30_000);
      const held = [first, second].map(({ obligation, fence }) => ({ obligationId: obligation.id, fence }));
      expect(await commit(store, (tx) => tx.renew(held, 60_000))).toEqual([false, true]);
    });

    test("the holder may still finish after its lease has ended, as long as nobody took over", async () => {
      const { store, clock } = bundle();
      const claim = await claimedObligation(store);
      clock.advance(100_000);
      expect(await commit(store, (tx) => tx.move([moveOf(claim, { state: "done" })]))).toEqual([true]);
      expect(await expired()).toEqual([]);
    });

    test("a released claim has no lease and is due at once", async () => {
      const { store } = bundle();
      const claim = await claimedObligation(store);
      const attempt = { verdict: "released", phase: null, status: null, cause: "stopping", answer: null } as const;
      await commit(store, (tx) => tx.move([moveOf(claim, { state: "owed", dueAt: tx.now }, { attempt })]));
      expect(await claimDue(store)).toMatchObject([{ fence: 2, kind: "send", obligation: { tries: 0 } }]);
    });

    test("a wall clock that steps changes no lease", async ({ skip }) => {
      const { store, clock } = bundle();
      if (!clock.stepWall) return skip();
      const claim = await claimedObligation(store);
      const held = [{ obligationId: claim.obligation.id, fence: claim.fence }];
      clock.stepWall(3_600_000);
      expect(await expired()).toEqual([]);
      clock.stepWall(-7_200_000);
      expect(await commit(store, (tx) => tx.renew(held, 60_000))).toEqual([true]);
      clock.advance(60_000);
      expect(await expired()).toHaveLength(1);
    });

    test("a reboot ends every lease at once", async ({ skip }) => {
      const { store, clock } = bundle();
      if (!clock.reboot) return skip();
      clock.advance(5_000);
      const claim = await claimedObligation(store);
      const held = [{ obligationId: claim.obligation.id, fence: claim.fence }];
      clock.reboot("boot-2");
      expect(await commit(store, (tx) => tx.renew(held, 60_000))).toEqual([false]);
      expect(await expired()).toMatchObject([{ claimedAt: claim.claimedAt }]);
      // Also once the new boot has run as long as the old one had.
      clock.advance(20_000);
      expect(await expired()).toHaveLength(1);
    });

    test("a reboot that kept its name shows in monotonic time that began anew", async ({ skip }) => {
      const { store, clock } = bundle();
      if (!clock.reboot) return skip();
      clock.advance(5_000);
      const { bootId } = (await claimedObligation(store)).claimedAt;
      clock.reboot(bootId);
      expect(await expired()).toHaveLength(1);
    });
  });
}
