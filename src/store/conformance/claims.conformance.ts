import { describe, expect, test } from "vitest";
import { commit, eachBundle, type MakeBundle } from "./bundle.conformance.ts";
import { claimDue, claimedObligation, hookLane, lane, moveOf, obligationDraft, owedId } from "./drafts.conformance.ts";

/** Claims: leases of what is due, recorded before anything is sent. */
export function exerciseClaims(make: MakeBundle): void {
  describe("claims", () => {
    const bundle = eachBundle(make);

    test("a claim raises the fence, takes the lease and records the attempt, all in its commit", async () => {
      const { store, other } = bundle();
      const id = await owedId(store);
      const [claim] = await claimDue(store, { worker: "worker-7" });
      const draft = obligationDraft();
      expect(claim).toMatchObject({
        kind: "send",
        fence: 1,
        input: draft.input,
        request: draft.request,
        requestDigest: draft.requestDigest,
        answer: null,
        evidence: false,
        obligation: { id, state: "sending", fence: 1, dueAt: null, reached: "no", updatedAt: claim?.claimedAt.wallMs },
      });
      const detail = await other.reader.obligation("acme", draft.operationKey);
      expect(detail?.obligation).toEqual(claim?.obligation);
      expect(detail?.lease).toEqual({ worker: "worker-7", live: true });
      expect(detail?.attempts).toEqual([
        {
          obligationId: id,
          fence: 1,
          kind: "send",
          generation: 1,
          worker: "worker-7",
          startedAt: claim?.claimedAt.wallMs,
          endedAt: null,
          verdict: "started",
          phase: null,
          status: null,
          cause: null,
        },
      ]);
    });

    test("what is claimed is not due any more, for either handle", async () => {
      const { store, other } = bundle();
      await claimedObligation(store);
      expect(await claimDue(other)).toEqual([]);
      expect(await commit(other, (tx) => tx.dueLanes())).toEqual([]);
    });

    test("handles that claim at once share what is due between them", async () => {
      const { store, other } = bundle();
      const drafts = Array.from({ length: 40 }, (_, index) => obligationDraft({ operationKey: `k${index}` }));
      await commit(store, (tx) => tx.owe(drafts));
      const claiming = Array.from({ length: 8 }, (_, index) => claimDue(index % 2 ? store : other, { limit: 5 }));
      const claims = (await Promise.all(claiming)).flat();
      expect(new Set(claims.map(({ obligation }) => obligation.id)).size).toBe(40);
      expect(claims).toHaveLength(40);
    });

    test("the oldest due come first, and no more than asked", async () => {
      const { store, clock } = bundle();
      const late = await claimedObligation(store, { operationKey: "late" });
      clock.advance(1_000);
      const first = await owedId(store, { operationKey: "first" });
      const second = await owedId(store, { operationKey: "second" });
      clock.advance(1_000);
      await commit(store, (tx) => tx.move([moveOf(late, { state: "owed", dueAt: tx.now })]));
      const claimed = (await claimDue(store, { limit: 2 })).map(({ obligation }) => obligation.id);
      expect(claimed).toEqual([first, second]);
      expect((await claimDue(store, { limit: 2 })).map(({ obligation }) => obligation.id)).toEqual([
        late.obligation.id,
      ]);
    });

    test("nothing is claimed before it is due", async () => {
      const { store, clock } = bundle();
      const claim = await claimedObligation(store);
      await commit(store, (tx) => tx.move([moveOf(claim, { state: "owed", dueAt: tx.now + 5_000 })]));
      clock.advance(4_999);
      expect(await commit(store, (tx) => tx.dueLanes())).toEqual([]);
      expect(await claimDue(store)).toEqual([]);
      clock.advance(1);
      expect(await commit(store, (tx) => tx.dueLanes())).toEqual([lane]);
      expect(await claimDue(store)).toMatchObject([{ fence: 2, kind: "send" }]);
    });

    test("lanes are effect and destination; a claim takes only the lanes it names", async () => {
      const { store } = bundle();
      const elsewhere = { effect: "ship/v1", destination: "https://other.example" };
      const mail = { effect: "mail/v1", destination: "https://carrier.example" };
      await owedId(store, { operationKey: "k1" });
      await owedId(store, { operationKey: "k2", ...elsewhere });
      await owedId(store, { operationKey: "k3", ...mail });
      const lanes = await commit(store, (tx) => tx.dueLanes());
      expect(lanes).toHaveLength(3);
      const others = [elsewhere, mail].map((named) => ({ ...named, calls: true }));
      expect(lanes).toEqual(expect.arrayContaining([lane, ...others]));
      expect((await claimDue(store)).map(({ obligation }) => obligation.operationKey)).toEqual(["k1"]);
      const both = others.map((named) => ({ ...named, limit: 1 }));
      const claims = await commit(store, (tx) => tx.claim({ lanes: both, worker: "w", leaseMs: 1_000 }));
      expect(claims.map(({ obligation }) => obligation.operationKey).toSorted()).toEqual(["k2", "k3"]);
      expect(await commit(store, (tx) => tx.dueLanes())).toEqual([]);
    });

    test("each state has its kind of attempt, and only owed changes its state", async () => {
      const { store } = bundle();
      for (const [state, kind, claimedAs] of [
        ["owed", "send", "sending"],
        ["sending", "send", "sending"],
        ["uncertain", "lookup", "uncertain"],
        ["settling", "settle", "settling"],
      ] as const) {
        const claim = await claimedObligation(store, { operationKey: state });
        await commit(store, (tx) => tx.move([moveOf(claim, { state, dueAt: tx.now })]));
        expect(await claimDue(store)).toMatchObject([{ kind, fence: 2, obligation: { state: claimedAs } }]);
      }
    });

    test("a paused destination is neither listed nor claimed, until it is resumed", async () => {
      const { store, other } = bundle();
      await owedId(store);
      await commit(other, (tx) => tx.pauseDestination(lane.destination, "401 from the carrier"));
      expect(await commit(store, (tx) => tx.dueLanes())).toEqual([]);
      expect(await claimDue(store)).toEqual([]);
      expect((await store.reader.counts()).pausedDestinations).toEqual([
        { destination: lane.destination, reason: "401 from the carrier" },
      ]);
      await commit(other, (tx) => tx.pauseDestination(lane.destination, null));
      expect(await commit(store, (tx) => tx.dueLanes())).toEqual([lane]);
      expect(await claimDue(store)).toHaveLength(1);
      expect((await store.reader.counts()).pausedDestinations).toEqual([]);
    });

    test("hooks are a lane of their own, listed and claimed apart from calls, and no pause concerns them", async () => {
      const { store, other } = bundle();
      const settling = await claimedObligation(store, { operationKey: "settling" });
      await commit(store, (tx) => tx.move([moveOf(settling, { state: "settling", dueAt: tx.now })]));
      await owedId(store, { operationKey: "owed" });
      expect(await commit(store, (tx) => tx.dueLanes())).toEqual([lane, hookLane]);
      await commit(other, (tx) => tx.pauseDestination(lane.destination, "401 from the carrier"));
      expect(await commit(store, (tx) => tx.dueLanes())).toEqual([hookLane]);
      expect(await claimDue(store)).toMatchObject([{ kind: "settle", obligation: { operationKey: "settling" } }]);
      await commit(other, (tx) => tx.pauseDestination(lane.destination, null));
      expect(await claimDue(store)).toMatchObject([{ kind: "send", obligation: { operationKey: "owed" } }]);
    });

    test("a claim that is rolled back leaves fence, lease and attempts as they were", async () => {
      const { store } = bundle();
      await owedId(store);
      const before = await store.reader.obligation("acme", obligationDraft().operationKey);
      const undo = new Error("undo");
      const claiming = commit(store, async (tx) => {
        await tx.claim({ lanes: [{ ...lane, limit: 1 }], worker: "w", leaseMs: 1_000 });
        throw undo;
      });
      await expect(claiming).rejects.toBe(undo);
      expect(await store.reader.obligation("acme", obligationDraft().operationKey)).toEqual(before);
    });
  });
}
