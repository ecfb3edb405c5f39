/**
 * Claim, settle, renewal, rescue and an operator's step of one obligation at once: who comes second waits
 * for the row or passes it by, and the fence says who may still write. One transaction is stopped while it
 * has the row; the other is looked at while it waits.
 */
import { expect, onTestFinished, test } from "vitest";
import { commit } from "../../src/store/conformance/bundle.conformance.ts";
import {
  answer,
  attemptEnd,
  claimDue,
  claimedObligation,
  lane,
  moveOf,
  owedId,
} from "../../src/store/conformance/drafts.conformance.ts";
import { postgresBundle } from "../../src/store/postgres/bundle.conformance.ts";
import type { Claim, Store, StoreTx } from "../../src/store/store.ts";
import { untilBlocked } from "../support/postgres-query.ts";
import { Stop } from "./stopped.ts";

const leaseMs = 60_000;
const lanes = [{ ...lane, limit: 10 }];
const claim = (worker: string) => (tx: StoreTx) => tx.claim({ lanes, worker, leaseMs });
/** The holder's word: it is done. */
const settle = (held: Claim) => (tx: StoreTx) =>
  tx.move([moveOf(held, { state: "done", reached: "yes" }, { attempt: attemptEnd() })]);
/** What a rescuer writes of a lease that ended: it is owed again, and nobody knows how far it got. */
const presumed = (held: Claim, now: number) => {
  const crashed = { verdict: "crashed", phase: null, status: null, cause: null, answer: null } as const;
  return moveOf(held, { state: "owed", reached: "maybe", dueAt: now }, { attempt: crashed, raiseFence: true });
};
const rescue = (held: Claim) => async (tx: StoreTx) => {
  const expired = await tx.expiredLeases(10);
  return expired.length > 0 ? tx.move([presumed(held, tx.now)]) : [];
};

async function meeting() {
  const bundle = await postgresBundle();
  onTestFinished(bundle.dispose);
  return bundle;
}

/** Begins a transaction that stops when its work is done. */
async function begun<T>(store: Store, body: (tx: StoreTx) => Promise<T>) {
  const stop = new Stop();
  const ended = commit(store, async (tx) => {
    const value = await body(tx);
    await stop.here();
    return value;
  });
  await Promise.race([stop.reached, ended]);
  return {
    commit: (): Promise<T> => {
      stop.goOn();
      return ended;
    },
  };
}

const seen = (store: Store, { obligation }: Claim) =>
  store.reader.obligation(obligation.tenant, obligation.operationKey);

test("what one worker claims, renews or settles now is passed by in a rescue, and not rescued afterwards", async () => {
  const { store, other, clock } = await meeting();
  const held = await claimedObligation(store);
  clock.advance(leaseMs - 1);
  const renewing = await begun(store, (tx) =>
    tx.renew([{ obligationId: held.obligation.id, fence: held.fence }], leaseMs),
  );
  clock.advance(1);
  expect(await commit(other, rescue(held))).toEqual([]);
  expect(await renewing.commit()).toEqual([true]);
  expect(await commit(other, rescue(held))).toEqual([]);
  clock.advance(leaseMs);
  const settling = await begun(store, settle(held));
  expect(await commit(other, rescue(held))).toEqual([]);
  expect(await settling.commit()).toEqual([true]);
  expect(await commit(other, rescue(held))).toEqual([]);
  expect(await seen(store, held)).toMatchObject({ obligation: { state: "done", fence: 1 } });
});

test("a holder that settles while it is rescued waits, changes nothing, and its answer is evidence", async () => {
  const { url, store, other, clock } = await meeting();
  const held = await claimedObligation(store);
  clock.advance(leaseMs);
  const rescuing = await begun(other, rescue(held));
  const settling = commit(store, settle(held));
  await untilBlocked(url);
  expect(await rescuing.commit()).toEqual([true]);
  expect(await settling).toEqual([false]);
  expect(await seen(store, held)).toMatchObject({
    obligation: { state: "owed", fence: 2 },
    attempts: [{ verdict: "done" }],
  });
  expect(await claimDue(store)).toMatchObject([{ fence: 3, evidence: true, answer }]);
});

test("a holder that renews while it is rescued waits, and has lost its lease", async () => {
  const { url, store, other, clock } = await meeting();
  const held = await claimedObligation(store);
  clock.advance(leaseMs - 1);
  // Its transaction began in time; the lease has ended by the one that rescues.
  const inTime = new Stop();
  const renewing = commit(store, async (tx) => {
    await inTime.here();
    return tx.renew([{ obligationId: held.obligation.id, fence: held.fence }], leaseMs);
  });
  await inTime.reached;
  clock.advance(1);
  const rescuing = await begun(other, rescue(held));
  inTime.goOn();
  await untilBlocked(url);
  await rescuing.commit();
  expect(await renewing).toEqual([false]);
});

test("two rescuers of one lease: the second passes it by, and the fence is raised once", async () => {
  const { store, other, clock } = await meeting();
  const held = await claimedObligation(store);
  clock.advance(leaseMs);
  const first = await begun(store, rescue(held));
  expect(await commit(other, rescue(held))).toEqual([]);
  await first.commit();
  expect(await seen(store, held)).toMatchObject({ obligation: { fence: 2 } });
});

test("what is being settled is claimed by nobody, and what becomes due by it is claimed once", async () => {
  const { store, other } = await meeting();
  const held = await claimedObligation(store);
  const again = (tx: StoreTx) =>
    tx.move([moveOf(held, { state: "owed", dueAt: tx.now }, { attempt: attemptEnd({ verdict: "again" }) })]);
  const settling = await begun(store, again);
  expect(await commit(other, claim("early"))).toEqual([]);
  await settling.commit();
  const both = await Promise.all([commit(store, claim("one")), commit(other, claim("two"))]);
  expect(both.flat()).toMatchObject([{ fence: 2 }]);
});

test("an operator who steps in while an obligation is claimed waits, and sees the claim", async () => {
  const { url, store, other } = await meeting();
  await owedId(store);
  const claiming = await begun(store, claim("one"));
  const operator = commit(other, (tx) => tx.lockObligation("acme", "acme/order-1/fulfil/v1"));
  await untilBlocked(url);
  const [held] = await claiming.commit();
  expect(await operator).toMatchObject({ state: "sending", fence: held?.fence });
});

test("an operator who steps in while an obligation becomes done waits, and sees it done", async () => {
  const { url, store, other } = await meeting();
  const held = await claimedObligation(store);
  const settling = await begun(store, settle(held));
  const operator = commit(other, (tx) => tx.lockObligation("acme", held.obligation.operationKey));
  await untilBlocked(url);
  await settling.commit();
  expect(await operator).toMatchObject({ state: "done", fence: 1 });
});

test("a settle that meets an operator's step waits, and is stale", async () => {
  const { url, store, other } = await meeting();
  const held = await claimedObligation(store);
  const cancelling = await begun(other, async (tx) => {
    await tx.lockObligation("acme", held.obligation.operationKey);
    return tx.move([moveOf(held, { state: "cancelled", dueAt: null }, { raiseFence: true })]);
  });
  const settling = commit(store, settle(held));
  await untilBlocked(url);
  expect(await cancelling.commit()).toEqual([true]);
  expect(await settling).toEqual([false]);
  expect(await seen(store, held)).toMatchObject({
    obligation: { state: "cancelled" },
    attempts: [{ verdict: "done" }],
  });
});
