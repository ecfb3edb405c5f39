import { expect, test } from "vitest";
import { rescue } from "../../src/outbox/rescue.ts";
import type { Claim } from "../../src/store/store.ts";
import { eventually } from "../../src/testing/eventually.ts";
import { transact } from "../../src/work/transact.ts";
import { tenant } from "../outbox/office.ts";
import { answered, coded, type Counter, open, openUncertain, operatorAt, target } from "./counter.ts";

test("a double click does one thing: the second is refused as changed, or answered that there is nothing to do", async () => {
  const { office, desk, operator } = await open();
  office.provider.failNext(answered(422));
  await desk.work();
  const { fence } = (await desk.see("order-1")).obligation;
  expect((await operator.retry({ ...target, fence })).changed).toBe(true);
  await expect(operator.retry({ ...target, fence })).rejects.toEqual(coded("CHANGED", /look again/));
  expect(await operator.retry(target)).toEqual({ changed: false, says: expect.stringContaining("due already") });
  expect((await desk.see("order-1")).audit).toHaveLength(1);
});

test("done said twice before the hook has run is one thing done; another answer is a second", async () => {
  const read: unknown[] = [];
  const { office, desk, operator } = await open({ provider: { contract: "ignores" } }, (of) => ({
    effects: [of.effect({ idempotency: "none", settled: ({ result }) => void read.push(result.answer) })],
  }));
  office.provider.failNext({ when: "after", kind: "reset" });
  await desk.work();
  const word = { ...target, evidence: "the carrier read out s-77", answer: { id: "s-77" } };
  expect((await operator.done(word)).changed).toBe(true);
  const settling = { changed: false, says: "It is settling already: the settled hook runs next" };
  expect([await operator.done(word), await operator.done({ ...target, evidence: "again" })]).toEqual([
    settling,
    settling,
  ]);
  expect((await desk.see("order-1")).audit).toHaveLength(1);
  expect((await operator.done({ ...word, answer: { id: "s-78" } })).changed).toBe(true);
  expect((await desk.see("order-1")).audit).toHaveLength(2);
  await desk.work();
  expect(read).toEqual([{ id: "s-78" }]);
});

test("of two operators at once, one acts and the other is told that it changed", async () => {
  const { office, desk } = await open();
  office.provider.failNext(answered(422));
  await desk.work();
  const other = await office.desk();
  const { fence } = (await desk.see("order-1")).obligation;
  const results = await Promise.allSettled([
    operatorAt(desk, "ada").retry({ ...target, fence }),
    operatorAt(other, "bob").cancel({ ...target, fence, reason: "not wanted" }),
  ]);
  expect(results.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
  expect(results.find((result) => result.status === "rejected")?.reason).toEqual(coded("CHANGED"));
  expect((await desk.see("order-1")).audit).toHaveLength(1);
});

test("while a call runs only cancel acts, and what the call learns then stays on its attempt", async () => {
  const { office, desk, operator } = await open({}, (of) => ({ effects: [of.effect({ lookup: of.lookup })] }));
  office.provider.failNext({ when: "after", kind: "hold" });
  const working = desk.work();
  await eventually(() => office.provider.held === 1);
  for (const act of [
    () => operator.retry(target),
    () => operator.lookup(target),
    () => operator.done({ ...target, evidence: "x" }),
    () => operator.renewKey({ ...target, confirm: true }),
  ]) {
    await expect(act()).rejects.toEqual(coded("NOT_ALLOWED", /its call is running now; wait for its end/));
  }
  expect((await operator.obligation(tenant, target.operationKey)).next.text).toBe("its call is running");
  expect((await operator.cancel({ ...target, reason: "stop" })).says).toMatch(
    /a call was running, and what it learns is kept/,
  );
  office.provider.release();
  await working;
  const { obligation, attempts } = await desk.see("order-1");
  expect(obligation).toMatchObject({ state: "cancelled", reached: "maybe" });
  expect(attempts).toMatchObject([{ kind: "send", verdict: "done", status: 201 }]);
});

/** Claims the call as a worker would that is then never heard of again, or late. */
async function claimOnly({ office, desk }: Counter): Promise<Claim> {
  const { url: destination } = office.provider;
  const { leaseMs } = desk.runtime.limits;
  const [claim] = await transact(desk.runtime, (tx) =>
    tx.claim({ lanes: [{ effect: "ship/v1", destination, calls: true, limit: 1 }], worker: "lost", leaseMs }),
  );
  return claim!;
}

test("an obligation whose worker was lost in mid-call can be acted on once a worker has taken note", async () => {
  const counter = await open({}, (of) => ({ effects: [of.effect({ lookup: of.lookup })] }));
  const { office, desk, operator } = counter;
  await claimOnly(counter);
  office.clock.advance(desk.runtime.limits.leaseMs + 1);
  await expect(operator.retry(target)).rejects.toEqual(
    coded("NOT_ALLOWED", /worker was lost in mid-call; start a worker/),
  );
  await expect(operator.renewKey({ ...target, confirm: true })).rejects.toEqual(coded("NOT_ALLOWED"));
  expect((await operator.obligation(tenant, target.operationKey)).next.text).toBe(
    "a worker takes note that the one before was lost",
  );
  await desk.work();
  expect((await operator.retry(target)).says).toMatch(/same request goes out under the same key|due already/);
});

test("a call answered after its worker had lost it settles at the next retry, and its key is not renewed", async () => {
  const counter = await open();
  const { office, desk, operator } = counter;
  const { obligation, fence } = await claimOnly(counter);
  office.clock.advance(desk.runtime.limits.leaseMs + 1);
  await rescue(desk.runtime);
  const answer = { status: 201, body: Buffer.from('{"id":"s-1"}'), truncated: false };
  const late = { verdict: "done", phase: "answer", status: 201, cause: null, answer } as const;
  await transact(desk.runtime, (tx) =>
    tx.move([
      { obligationId: obligation.id, fence, to: obligation, attempt: late, keepLease: false, raiseFence: false },
    ]),
  );
  await expect(operator.renewKey({ ...target, confirm: true })).rejects.toEqual(
    coded("NOT_ALLOWED", /took effect already/),
  );
  expect((await operator.retry(target)).says).toMatch(/settled from that answer, nothing is sent/);
  await desk.work();
  expect(await desk.state("order-1")).toBe("done");
  expect(office.provider.counts().requests).toBe(0);
});

test("an effect that this configuration does not register can be cancelled, not guessed about", async () => {
  const { office, desk } = await openUncertain();
  const operator = operatorAt(await office.desk({ effects: [] }));
  for (const act of [
    () => operator.retry(target),
    () => operator.lookup(target),
    () => operator.done({ ...target, evidence: "x" }),
  ]) {
    await expect(act()).rejects.toEqual(coded("NOT_ALLOWED", /ship\/v1 is not registered/));
  }
  await operator.cancel({ ...target, reason: "the effect is gone" });
  expect(await desk.state("order-1")).toBe("cancelled");
});

test("a running worker is woken by an action, not by its next poll", async () => {
  const { office, desk, operator } = await open();
  office.provider.failNext(answered(422));
  await desk.work();
  desk.worker.start();
  // Its first looks are over, and its next poll never comes: the clock stands still.
  await desk.owe("order-2");
  await eventually(async () => (await desk.state("order-2")) === "done");
  for (let read = 0; read < 10; read += 1) await desk.see("order-2");
  await operator.retry(target);
  await eventually(async () => (await desk.state("order-1")) === "done", { withinMs: 20_000 });
});
