import { expect, test } from "vitest";
import { coded, open, openUncertain, target } from "./counter.ts";

test("done takes an answer that fits, and the settled hook reads it as the operator's", async () => {
  const read: unknown[] = [];
  const { office, desk, operator } = await open({ provider: { contract: "ignores" } }, (of) => ({
    effects: [of.effect({ idempotency: "none", settled: ({ result }) => void read.push(result) })],
  }));
  office.provider.failNext({ when: "after", kind: "reset" });
  await desk.work();
  const evidence = "the carrier read out s-77";
  await expect(operator.done({ ...target, evidence })).rejects.toEqual(coded("NOT_ALLOWED", /hook reads an answer/));
  await expect(operator.done({ ...target, evidence, answer: { no: "canary" } })).rejects.toEqual(
    coded("NOT_ALLOWED", /^[^]*does not fit at "id"$/),
  );
  expect((await operator.done({ ...target, evidence, answer: { id: "s-77" } })).changed).toBe(true);
  expect((await desk.see("order-1")).obligation).toMatchObject({ state: "settling", reached: "yes" });
  await desk.work();
  expect(read).toEqual([{ source: "operator", answer: { id: "s-77" } }]);
  expect(await desk.state("order-1")).toBe("done");
  expect(await operator.done({ ...target, evidence })).toEqual({ changed: false, says: "It is done already" });
  expect((await desk.see("order-1")).audit).toMatchObject([{ action: "done", why: evidence }]);
  expect(office.provider.counts().requests).toBe(1);
});

test("done without a hook is done at once, and needs evidence", async () => {
  const { desk, operator } = await openUncertain();
  await expect(operator.done({ ...target, evidence: "  " })).rejects.toThrow(TypeError);
  await operator.done({ ...target, evidence: "seen at the provider" });
  expect((await desk.see("order-1")).obligation).toMatchObject({ state: "done", reached: "yes", dueAt: null });
});

test("a 2xx that does not fit waits for the operator; done with a fitting answer settles it, and nothing is sent again", async () => {
  const read: unknown[] = [];
  const { office, desk, operator } = await open({}, (of) => ({
    effects: [of.effect({ settled: ({ result }) => void read.push(result.answer) })],
  }));
  office.provider.failNext({ when: "after", kind: "answer", status: 200, body: '{"shipment":"s-1"}' });
  await desk.work();
  expect((await desk.see("order-1")).obligation).toMatchObject({ state: "settling", dueAt: null });
  expect(await operator.attention()).toMatchObject([{ kind: "obligation", obligation: { state: "settling" } }]);
  await expect(operator.renewKey({ ...target, confirm: true })).rejects.toEqual(
    coded("NOT_ALLOWED", /took effect already/),
  );
  await expect(operator.done({ ...target, evidence: "s-1" })).rejects.toEqual(
    coded("NOT_ALLOWED", /give an answer that fits/),
  );
  await operator.done({ ...target, evidence: "s-1", answer: { id: "s-1" } });
  await desk.work();
  expect(read).toEqual([{ id: "s-1" }]);
  expect(await operator.attention()).toEqual([]);
  expect(office.provider.counts()).toMatchObject({ requests: 1, effects: 1 });
});

test("retry of a hook that kept failing runs the hook again and sends nothing", async () => {
  let broken = true;
  const { office, desk, operator } = await open({ limits: { hookTriesMax: 1 } }, (of) => ({
    effects: [
      of.effect({
        settled: () => {
          if (broken) throw new Error("canary");
        },
      }),
    ],
  }));
  await desk.work();
  expect((await desk.see("order-1")).obligation).toMatchObject({ state: "settling", dueAt: null });
  broken = false;
  expect((await operator.retry(target)).says).toMatch(/settled hook runs again now.*nothing is sent/);
  await desk.work();
  expect(await desk.state("order-1")).toBe("done");
  expect(office.provider.counts().requests).toBe(1);
});

test("cancel gives up with a reason, once, and nothing more is sent", async () => {
  const { office, desk, operator } = await openUncertain();
  await expect(operator.cancel({ ...target, reason: "" })).rejects.toThrow(TypeError);
  const { says } = await operator.cancel({ ...target, reason: "the order was withdrawn" });
  expect(says).toMatch(/nothing more is sent; an earlier call may have taken effect/);
  expect(await operator.cancel({ ...target, reason: "again" })).toEqual({
    changed: false,
    says: "It is cancelled already",
  });
  await desk.work();
  expect((await desk.see("order-1")).obligation).toMatchObject({
    state: "cancelled",
    reason: "cancelled by an operator: the order was withdrawn",
  });
  for (const act of [
    () => operator.retry(target),
    () => operator.lookup(target),
    () => operator.renewKey({ ...target, confirm: true }),
  ]) {
    await expect(act()).rejects.toEqual(coded("NOT_ALLOWED", /it is cancelled; an intended repeat is a new operation/));
  }
  expect(office.provider.counts().requests).toBe(1);
});

test("what is done cannot be cancelled, nor cancelled work be marked done", async () => {
  const { desk, operator } = await open();
  await desk.work();
  await expect(operator.cancel({ ...target, reason: "x" })).rejects.toEqual(
    coded("NOT_ALLOWED", /it is done, so nothing more is owed/),
  );
  const other = await openUncertain();
  await other.operator.cancel({ ...target, reason: "x" });
  await expect(other.operator.done({ ...target, evidence: "x" })).rejects.toEqual(
    coded("NOT_ALLOWED", /it is cancelled/),
  );
});
