/** Stopping at each phase of an attempt, and what the next start finds. */
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { defaults } from "../../src/domain/limits.ts";
import type { Call } from "../../src/outbox/attempt.ts";
import { Caller } from "../../src/outbox/caller.ts";
import { eventually } from "../../src/testing/eventually.ts";
import { type Office, openOffice, type ShipOptions } from "../outbox/office.ts";

test("what was claimed and not started goes back unharmed", async () => {
  await using office = await openOffice();
  const desk = await office.desk();
  await desk.owe("order-1");
  const lock = await office.database.lock();
  desk.worker.start();
  await setImmediate();
  const stopping = desk.worker.stop();
  await lock[Symbol.asyncDispose]();
  await stopping;
  const { obligation, attempts, lease } = await desk.see("order-1");
  expect(obligation).toMatchObject({ state: "owed", reached: "no", tries: 0, crashes: 0 });
  expect(obligation.dueAt).not.toBeNull();
  expect(attempts.map(({ verdict }) => verdict)).toEqual(["released"]);
  expect(lease).toBeNull();
  expect(office.provider.counts().requests).toBe(0);
  await desk.work();
  expect(await desk.state("order-1")).toBe("done");
});

test("a claim still being written when all else has stopped goes back unharmed", async () => {
  await using office = await openOffice();
  const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
  let transactions = 0;
  // The loops start with the one that claims: its transaction alone is held back.
  const beforeTransaction = (): Promise<void> => (transactions++ === 0 ? held : Promise.resolve());
  const desk = await office.desk({ beforeTransaction });
  await (await office.desk()).owe("order-1");
  desk.worker.start();
  await eventually(() => expect(transactions).toBeGreaterThan(0));
  const stopping = desk.worker.stop();
  for (let read = 0; read < 10; read += 1) await desk.see("order-1");
  letGo();
  await stopping;
  const { obligation, attempts, lease } = await desk.see("order-1");
  expect(obligation).toMatchObject({ state: "owed", reached: "no" });
  expect(attempts).toMatchObject([{ verdict: "released" }]);
  expect(lease).toBeNull();
});

/** Calls over real HTTP to a name that is never resolved; `asked` resolves when one has begun. */
function unresolving(office: Office): { readonly call: Call; readonly asked: Promise<void> } {
  const { promise: asked, resolve: begun } = Promise.withResolvers<void>();
  const caller = new Caller({
    clock: office.clock,
    limits: defaults,
    idleMs: 1_000,
    resolve: () => {
      begun();
      return Promise.withResolvers<never>().promise;
    },
  });
  return { asked, call: (request, options) => caller.call(request, options) };
}

const nowhere = "http://carrier.test";

test("what is still connecting when the grace ends goes back unharmed", async () => {
  await using office = await openOffice();
  const { call, asked } = unresolving(office);
  const request: ShipOptions["request"] = ({ input }) => ({ method: "POST", url: `${nowhere}/v1`, json: input });
  const desk = await office.desk({ effects: [office.effect({ request, allow: [nowhere] })], call });
  await desk.owe("order-1");
  desk.worker.start();
  await asked;
  await desk.worker.stop({ graceMs: 0 });
  const { obligation, attempts } = await desk.see("order-1");
  expect(obligation).toMatchObject({ state: "owed", reached: "no", keySince: null, tries: 0 });
  expect(attempts).toMatchObject([{ verdict: "released" }]);
});

test("a lookup that is still connecting when the grace ends goes back unharmed", async () => {
  await using office = await openOffice();
  const { call, asked } = unresolving(office);
  const lookup = { ...office.lookup, get: () => `${nowhere}/v1` };
  const ship = office.effect({ idempotency: "none", lookup, allow: [office.provider.url, nowhere] });
  office.provider.failNext({ when: "after", kind: "reset" });
  const first = await office.desk({ effects: [ship] });
  await first.owe("order-1");
  await first.work();
  office.clock.advance(10_000);
  const desk = await office.desk({ effects: [ship], call });
  desk.worker.start();
  await asked;
  await desk.worker.stop({ graceMs: 0 });
  const { obligation, attempts } = await desk.see("order-1");
  expect(obligation).toMatchObject({ state: "uncertain", lookups: 0, crashes: 0 });
  expect(attempts.at(-1)).toMatchObject({ kind: "lookup", verdict: "released" });
});

test("an answer within the grace is written, and its hook runs", async () => {
  await using office = await openOffice();
  let hooked = 0;
  const desk = await office.desk({ effects: [office.effect({ settled: () => void (hooked += 1) })] });
  await desk.owe("order-1");
  office.provider.failNext({ when: "after", kind: "hold" });
  desk.worker.start();
  await eventually(() => office.provider.held === 1);
  const stopping = desk.worker.stop({ graceMs: 5_000 });
  office.provider.release();
  await stopping;
  expect(await desk.state("order-1")).toBe("done");
  expect(hooked).toBe(1);
});

test("a call that outlasts the grace is unknown, never fresh", async () => {
  await using office = await openOffice({ provider: { contract: "ignores" } });
  const desk = await office.desk({ effects: [office.effect({ idempotency: "none", lookup: office.lookup })] });
  await desk.owe("order-1");
  await desk.owe("order-2");
  office.provider.failWhen(({ method }) => (method === "POST" ? { when: "after", kind: "hold" } : undefined));
  desk.worker.start();
  await eventually(() => office.provider.held === 2);
  const stopping = desk.worker.stop({ graceMs: 5_000 });
  await desk.owe("order-3");
  office.clock.advance(4_999);
  expect(await desk.state("order-1")).toBe("sending");
  await eventually(async () => {
    office.clock.advance(100);
    return (await desk.state("order-1")) === "uncertain";
  });
  await stopping;
  const { obligation, attempts, lease } = await desk.see("order-1");
  expect(obligation).toMatchObject({ state: "uncertain", reached: "maybe" });
  expect(attempts).toMatchObject([{ verdict: "unknown", cause: "aborted" }]);
  expect(lease).toBeNull();
  // Nothing was claimed once it was stopping.
  expect((await desk.see("order-3")).attempts).toEqual([]);
  office.provider.release();
  office.provider.failWhen(() => undefined);
  office.clock.advance(10_000);
  await desk.work();
  expect([await desk.state("order-1"), await desk.state("order-2"), await desk.state("order-3")]).toEqual([
    "done",
    "done",
    "done",
  ]);
  expect(office.provider.counts()).toMatchObject({ requests: 3, effects: 3 });
});

test("what the store does not take any more is left to its lease, and stopping ends all the same", async () => {
  await using office = await openOffice({ limits: { lockMs: 50 } });
  const desk = await office.desk();
  await desk.owe("order-1");
  office.provider.failNext({ when: "after", kind: "hold" });
  desk.worker.start();
  await eventually(() => office.provider.held === 1);
  const lock = await office.database.lock();
  let stopped = false;
  const stopping = desk.worker.stop({ graceMs: 1_000 }).then(() => (stopped = true));
  await eventually(() => {
    office.clock.advance(100);
    return stopped;
  });
  await stopping;
  // Its last write has given up when this resolves.
  await desk.runtime.store.close();
  await lock[Symbol.asyncDispose]();
  const next = await office.desk();
  expect((await next.see("order-1")).obligation).toMatchObject({ state: "sending" });
  office.provider.release();
  office.clock.advance(60_000);
  await next.work();
  expect((await next.see("order-1")).obligation).toMatchObject({ state: "owed", reached: "maybe", crashes: 1 });
  office.clock.advance(2_000);
  await next.work();
  expect(await next.state("order-1")).toBe("done");
  expect(office.provider.counts().effects).toBe(1);
});

test("stopping twice, and starting again, is harmless", async () => {
  await using office = await openOffice();
  const desk = await office.desk();
  desk.worker.start();
  desk.worker.start();
  await Promise.all([desk.worker.stop(), desk.worker.stop()]);
  await desk.worker.stop();
  await desk.owe("order-1");
  expect(desk.worker.health().live).toBe(true);
  desk.worker.start();
  await eventually(async () => (await desk.state("order-1")) === "done");
});
