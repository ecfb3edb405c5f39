import { describe, expect, test } from "vitest";
import type { Progress } from "../../domain/obligation.ts";
import type { Claim, Move } from "../store.ts";
import { commit, eachBundle, type MakeBundle } from "./bundle.conformance.ts";
import { answer, attemptEnd, claimDue, claimedObligation, moveOf, progressOf } from "./drafts.conformance.ts";

/** Moves: every write of a lease holder names its fence, and another one changes nothing. */
export function exerciseFences(make: MakeBundle): void {
  describe("fences", () => {
    const bundle = eachBundle(make);
    const detailOf = ({ obligation }: Pick<Claim, "obligation">) =>
      bundle().store.reader.obligation(obligation.tenant, obligation.operationKey);
    const move = (...moves: readonly Move[]) => commit(bundle().other, (tx) => tx.move(moves));

    test("a move writes every part of the progress, ends the attempt and gives the lease back", async () => {
      const { store, clock } = bundle();
      const claim = await claimedObligation(store);
      clock.advance(2_000);
      const to: Progress = {
        state: "uncertain",
        reached: "maybe",
        generation: 2,
        keySince: { ...claim.claimedAt },
        tries: 3,
        lookups: 4,
        crashes: 5,
        lastCallEndedAt: { wallMs: claim.claimedAt.wallMs + 1_000, monotonicMs: 77, bootId: "boot-x" },
        dueAt: claim.claimedAt.wallMs + 60_000,
        reason: "timeout",
      };
      const attempt = attemptEnd({ verdict: "unknown", phase: "sent", status: null, cause: "timeout", answer: null });
      expect(await move(moveOf(claim, to, { attempt }))).toEqual([true]);
      const detail = await detailOf(claim);
      expect(progressOf(detail!.obligation)).toEqual(to);
      expect(detail).toMatchObject({
        lease: null,
        obligation: { fence: 1, updatedAt: claim.claimedAt.wallMs + 2_000 },
        attempts: [{ verdict: "unknown", phase: "sent", cause: "timeout", endedAt: claim.claimedAt.wallMs + 2_000 }],
      });
    });

    test("a stale fence changes nothing of the obligation and says so", async () => {
      const { store } = bundle();
      const claim = await claimedObligation(store);
      expect(await move(moveOf(claim, { state: "owed", dueAt: claim.claimedAt.wallMs }))).toEqual([true]);
      const [second] = await claimDue(store);
      const before = await detailOf(claim);
      for (const fence of [0, 1, 3]) {
        expect(await move(moveOf({ ...claim, fence }, { state: "done", reason: "stale" }, { answer }))).toEqual([
          false,
        ]);
      }
      expect(await detailOf(claim)).toEqual(before);
      expect(await move(moveOf(second!, { state: "done" }))).toEqual([true]);
    });

    test("a worker of the same name that lost its lease can neither renew, release, fail nor complete", async () => {
      const { store, clock } = bundle();
      const claim = await claimedObligation(store);
      clock.advance(60_000);
      const [expired] = await commit(store, (tx) => tx.expiredLeases(10));
      await move(moveOf({ ...claim, obligation: expired!.obligation }, { dueAt: 0 }, { raiseFence: true }));
      const [second] = await claimDue(store, { worker: "worker-1" });
      expect(second).toMatchObject({ fence: 3 });
      const held = [{ obligationId: claim.obligation.id, fence: claim.fence }];
      expect(await commit(store, (tx) => tx.renew(held, 60_000))).toEqual([false]);
      for (const state of ["owed", "stuck", "done"] as const) {
        expect(await move(moveOf(claim, { state }))).toEqual([false]);
      }
      expect(await detailOf(claim)).toMatchObject({
        obligation: { state: "sending", fence: 3 },
        lease: { live: true },
      });
      expect(await move(moveOf(second!, { state: "done" }))).toEqual([true]);
    });

    test("whoever does not hold the lease raises the fence, so that the holder learns it", async () => {
      const { store } = bundle();
      const claim = await claimedObligation(store);
      const cancel = moveOf(claim, { state: "cancelled", reason: "by hand" }, { raiseFence: true });
      expect(await move(cancel)).toEqual([true]);
      expect(await move(moveOf(claim, { state: "done" }))).toEqual([false]);
      expect(await move(cancel)).toEqual([false]);
      expect(await detailOf(claim)).toMatchObject({ obligation: { state: "cancelled", fence: 2 }, lease: null });
    });

    test("a kept lease goes on under the same fence", async () => {
      const { store, clock } = bundle();
      const claim = await claimedObligation(store);
      clock.advance(59_000);
      const settling = moveOf(claim, { state: "settling", reached: "yes" }, { keepLease: true, attempt: attemptEnd() });
      expect(await move(settling)).toEqual([true]);
      expect(await detailOf(claim)).toMatchObject({
        lease: { worker: "worker-1", live: true },
        obligation: { fence: 1 },
      });
      expect(await commit(store, (tx) => tx.expiredLeases(10))).toEqual([]);
      expect(await move(moveOf(claim, { state: "done", reached: "yes" }))).toEqual([true]);
      expect(await detailOf(claim)).toMatchObject({ lease: null, answer, obligation: { state: "done" } });
    });

    test("moves of one call stand each for itself", async () => {
      const { store } = bundle();
      const first = await claimedObligation(store, { operationKey: "k1" });
      const second = await claimedObligation(store, { operationKey: "k2" });
      const moved = await move(
        moveOf({ ...first, fence: 9 }, { state: "done" }),
        moveOf(second, { state: "done" }),
        moveOf(second, { state: "stuck" }, { raiseFence: true }),
        moveOf(second, { state: "done" }),
      );
      expect(moved).toEqual([false, true, true, false]);
      expect((await detailOf(first))?.obligation.state).toBe("sending");
      expect((await detailOf(second))?.obligation.state).toBe("stuck");
    });

    test("fences only grow, through claims, moves and operators", async () => {
      const { store } = bundle();
      let claim = await claimedObligation(store);
      const fences = [claim.fence];
      for (let round = 0; round < 3; round += 1) {
        await move(moveOf(claim, { state: "stuck", dueAt: null }));
        await move(moveOf(claim, { state: "owed", dueAt: claim.claimedAt.wallMs }, { raiseFence: true }));
        [claim] = (await claimDue(store)) as [Claim];
        fences.push(claim.fence);
      }
      expect(fences).toEqual([1, 3, 5, 7]);
      expect((await detailOf(claim))?.attempts.map(({ fence }) => fence)).toEqual(fences);
    });
  });
}
