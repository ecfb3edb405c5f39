import { describe, expect, test } from "vitest";
import type { AttemptEnd, StoredAnswer } from "../../domain/obligation.ts";
import type { Claim } from "../store.ts";
import { commit, eachBundle, type MakeBundle } from "./bundle.conformance.ts";
import { answer, attemptEnd, bytesOf, claimDue, claimedObligation, moveOf } from "./drafts.conformance.ts";

const crashed: AttemptEnd = { verdict: "crashed", phase: null, status: null, cause: null, answer: null };

/** What attempts learned, also after their lease was lost. */
export function exerciseEvidence(make: MakeBundle): void {
  describe("evidence", () => {
    const bundle = eachBundle(make);
    const detailOf = ({ obligation }: Pick<Claim, "obligation">) =>
      bundle().store.reader.obligation(obligation.tenant, obligation.operationKey);
    const evidenceOf = ({ obligation }: Pick<Claim, "obligation">) =>
      commit(bundle().store, async (tx) => (await tx.evidence([obligation.id])).get(obligation.id));

    /** A claim that a rescuer took over; the obligation is owed again at once. */
    const rescued = async (): Promise<Claim> => {
      const { store } = bundle();
      const claim = await claimedObligation(store);
      const to = { state: "owed", reached: "maybe", dueAt: claim.claimedAt.wallMs } as const;
      await commit(store, (tx) => tx.move([moveOf(claim, to, { attempt: crashed, raiseFence: true })]));
      return claim;
    };
    /** The first holder comes back late. */
    const late = (claim: Claim, attempt: AttemptEnd = attemptEnd()) =>
      commit(bundle().other, (tx) => tx.move([moveOf(claim, { state: "settling", reached: "yes" }, { attempt })]));

    test("a late answer changes no state but is kept on its own attempt, over what was presumed", async () => {
      const claim = await rescued();
      expect(await evidenceOf(claim)).toBeUndefined();
      expect(await late(claim)).toEqual([false]);
      const detail = await detailOf(claim);
      expect(detail).toMatchObject({
        obligation: { state: "owed", reached: "maybe" },
        attempts: [{ fence: 1, verdict: "done", status: 201, phase: "answered", cause: null }],
      });
      expect(await evidenceOf(claim)).toEqual(answer);
    });

    test("the next claim carries the late answer, so that nothing is sent again", async () => {
      const { store } = bundle();
      const claim = await rescued();
      await late(claim);
      expect(await claimDue(store)).toMatchObject([{ kind: "send", fence: 3, evidence: true, answer }]);
    });

    test("a claim without a done attempt before it carries none", async () => {
      const { store } = bundle();
      const claim = await rescued();
      await late(claim, attemptEnd({ verdict: "again", status: 503, answer: { ...answer, status: 503 } }));
      expect(await claimDue(store)).toMatchObject([{ evidence: false, answer: null }]);
      expect(await evidenceOf(claim)).toBeUndefined();
    });

    test("what a refused call was told is kept for people, the newest, and is no answer", async () => {
      const { store } = bundle();
      const told = (text: string) => ({ ...answer, status: 422, body: bytesOf(text) });
      for (const [index, text] of ["no such street", "no such town"].entries()) {
        const claim = index === 0 ? await claimedObligation(store) : (await claimDue(store))[0]!;
        const attempt = attemptEnd({ verdict: "permanent", status: 422, answer: told(text) });
        const to = { state: "owed", dueAt: claim.claimedAt.wallMs } as const;
        expect(await commit(store, (tx) => tx.move([moveOf(claim, to, { attempt })]))).toEqual([true]);
        expect(await detailOf(claim)).toMatchObject({ refusal: told(text), answer: null });
        expect(await evidenceOf(claim)).toBeUndefined();
      }
    });

    test("an answer that came after the next claim is found before that claim decides", async () => {
      const { store } = bundle();
      const claim = await rescued();
      const [second] = await claimDue(store);
      expect(second).toMatchObject({ evidence: false });
      await late(claim);
      expect(await evidenceOf(second!)).toEqual(answer);
    });

    test("an end that its holder wrote is not overwritten, by a rescuer or by the holder", async () => {
      const { store } = bundle();
      const claim = await claimedObligation(store);
      await commit(store, (tx) =>
        tx.move([moveOf(claim, { state: "settling" }, { attempt: attemptEnd(), keepLease: true })]),
      );
      await commit(store, (tx) =>
        tx.move([moveOf(claim, { state: "settling" }, { attempt: crashed, raiseFence: true })]),
      );
      await late(claim, attemptEnd({ verdict: "permanent", status: 422, answer: null }));
      expect((await detailOf(claim))?.attempts).toMatchObject([{ verdict: "done", status: 201 }]);
      expect(await evidenceOf(claim)).toEqual(answer);
    });

    test("an end that says less than done is an end as well", async () => {
      const { store } = bundle();
      const claim = await claimedObligation(store);
      const again = attemptEnd({ verdict: "again", status: 503, answer: null });
      await commit(store, (tx) => tx.move([moveOf(claim, { state: "owed" }, { attempt: again })]));
      await late(claim);
      expect((await detailOf(claim))?.attempts).toMatchObject([{ verdict: "again", status: 503 }]);
      expect(await evidenceOf(claim)).toBeUndefined();
    });

    test("a rescuer's presumption never replaces an end", async () => {
      const { store } = bundle();
      const claim = await rescued();
      await late(claim);
      await commit(store, (tx) => tx.move([moveOf(claim, {}, { attempt: crashed, raiseFence: true })]));
      expect((await detailOf(claim))?.attempts).toMatchObject([{ verdict: "done" }]);
    });

    test("a done attempt counts although its body was not kept", async () => {
      const claim = await rescued();
      await late(claim, attemptEnd({ status: 204, answer: null }));
      const expected: StoredAnswer = { status: 204, body: new Uint8Array(), truncated: false };
      expect(await evidenceOf(claim)).toEqual(expected);
    });

    test("many obligations are asked about at once", async () => {
      const { store } = bundle();
      const claim = await rescued();
      await late(claim);
      const none = await claimedObligation(store, { operationKey: "none" });
      const ids = [none.obligation.id, claim.obligation.id, 4_711];
      expect(await commit(store, (tx) => tx.evidence(ids))).toEqual(new Map([[claim.obligation.id, answer]]));
      expect(await commit(store, (tx) => tx.evidence([]))).toEqual(new Map());
    });

    test("the hook is given the answer that was stored with the verdict", async () => {
      const { store } = bundle();
      const claim = await claimedObligation(store);
      const body = Uint8Array.from({ length: 256 }, (_, value) => value);
      const stored: StoredAnswer = { status: 200, body, truncated: true };
      const to = { state: "settling", reached: "yes", dueAt: claim.claimedAt.wallMs } as const;
      await commit(store, (tx) =>
        tx.move([moveOf(claim, to, { attempt: attemptEnd({ status: 200, answer: stored }) })]),
      );
      expect(await claimDue(store)).toMatchObject([{ kind: "settle", answer: stored, evidence: false }]);
      expect((await detailOf(claim))?.answer).toEqual(stored);
    });

    test("an answer that a lookup found, or an operator gave, is the obligation's answer", async () => {
      const { store } = bundle();
      const claim = await claimedObligation(store);
      const refused: StoredAnswer = { status: 422, body: bytesOf("no"), truncated: false };
      const permanent = attemptEnd({ verdict: "permanent", status: 422, answer: refused });
      await commit(store, (tx) => tx.move([moveOf(claim, { state: "stuck" }, { attempt: permanent })]));
      expect((await detailOf(claim))?.answer).toBeNull();
      const given: StoredAnswer = { status: 200, body: bytesOf('{"id":"shp_9"}'), truncated: false };
      const to = { state: "settling", reached: "yes", dueAt: claim.claimedAt.wallMs } as const;
      await commit(store, (tx) => tx.move([moveOf(claim, to, { raiseFence: true, answer: given })]));
      expect(await claimDue(store)).toMatchObject([{ kind: "settle", answer: given }]);
      expect((await detailOf(claim))?.answer).toEqual(given);
    });
  });
}
