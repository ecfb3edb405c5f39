/** A database is put back to an earlier state, while the provider goes on from where it was. */
import { expect, onTestFinished, test } from "vitest";
import type { Operator } from "../../src/operator/operator.ts";
import { type Desk, type DeskOptions, type Office, type OfficeOptions, openOffice } from "../outbox/office.ts";
import { answered, coded, hour, operatorAt, target } from "./counter.ts";

interface Restored {
  readonly office: Office;
  /** When the backup was made. */
  readonly since: number;
  /** A desk and an operator on the backup, put back after the original went on. */
  readonly desk: Desk;
  readonly operator: Operator;
}

type Make = (office: Office) => DeskOptions;

/** Backs up what `before` left, lets the original work on, and puts the backup back an hour later. */
async function restore(
  make: Make,
  before: (desk: Desk, office: Office) => Promise<void> = (desk) => desk.owe("order-1"),
  options: OfficeOptions = { provider: { contract: "ignores" } },
): Promise<Restored> {
  const office = await openOffice(options);
  onTestFinished(() => office[Symbol.asyncDispose]());
  const original = await office.desk(make(office));
  await before(original, office);
  const since = office.clock.wallMs();
  const backup = await office.database.copy();
  onTestFinished(() => backup[Symbol.asyncDispose]());
  await original.work();
  office.clock.advance(hour);
  const desk = await office.desk({ ...make(office), database: backup });
  return { office, since, desk, operator: operatorAt(desk) };
}

const keyless: Make = (office) => ({ effects: [office.effect({ idempotency: "none" })] });
const lookedUp: Make = (office) => ({
  effects: [office.effect({ idempotency: "none", lookup: { ...office.lookup, settleDelay: "10s" } })],
});

test("what was sent after the backup is not sent again: without a lookup the operator decides", async () => {
  const { office, since, desk, operator } = await restore(keyless);
  expect(office.provider.counts().effects).toBe(1);
  expect(await operator.restored({ since, why: "the disk was lost" })).toEqual({ obligations: 1 });
  await desk.work();
  const { obligation, audit } = await desk.see("order-1");
  expect(obligation).toMatchObject({ state: "uncertain", reached: "maybe", dueAt: null });
  expect(obligation.reason).toMatch(/^restored to .*Z: it may have been sent since$/);
  expect(audit).toMatchObject([{ who: "ada", action: "restored", why: "the disk was lost" }]);
  expect(await operator.attention()).toMatchObject([{ kind: "obligation", obligation: { state: "uncertain" } }]);
  await expect(operator.retry(target)).rejects.toEqual(coded("NOT_ALLOWED"));
  expect(office.provider.counts().effects).toBe(1);
});

test("without that word it would be sent a second time, which is what the word is for", async () => {
  const { office, desk } = await restore(keyless);
  await desk.work();
  expect(office.provider.counts().effects).toBe(2);
});

test("a lookup finds what was sent after the backup; what is owed after the restore is sent as ever", async () => {
  const { office, since, desk, operator } = await restore(lookedUp);
  await desk.owe("order-2");
  expect(await operator.restored({ since })).toEqual({ obligations: 1 });
  expect(await desk.state("order-2")).toBe("owed");
  await desk.work();
  office.clock.advance(11_000);
  await desk.work();
  expect([await desk.state("order-1"), await desk.state("order-2")]).toEqual(["done", "done"]);
  expect(office.provider.counts().effects).toBe(2);
});

test("what was not sent goes out under a new key, once no call of the lost time can still be running", async () => {
  const make: Make = (office) => ({ effects: [office.effect({ lookup: { ...office.lookup, settleDelay: "10s" } })] });
  const { office, since, desk, operator } = await restore(make, async (original, { provider }) => {
    await original.owe("order-1");
    provider.failNext(answered(503));
  });
  expect(office.provider.counts().effects).toBe(0);
  await operator.restored({ since });
  await desk.work();
  expect(await desk.state("order-1")).toBe("uncertain");
  office.clock.advance(11_000);
  await desk.work();
  expect((await desk.see("order-1")).obligation).toMatchObject({ state: "done", generation: 2 });
  expect(office.provider.counts().effects).toBe(1);
});

test("a call that was under way in the backup, and what was stuck, are in doubt; what is done is not touched", async () => {
  const { office, since, desk, operator } = await restore(keyless, async (original, { provider }) => {
    await original.owe("order-0");
    await original.work();
    await original.owe("order-1");
    provider.failNext(answered(422));
    await original.work();
    await original.owe("order-2");
    const { store } = original.runtime;
    await store.transaction(
      async (tx) => {
        const [lane] = await tx.dueLanes();
        await tx.claim({ lanes: [{ ...lane!, limit: 1 }], worker: "lost", leaseMs: 60_000 });
      },
      { waitMs: 5_000 },
    );
  });
  const effects = office.provider.counts().effects;
  expect([await desk.state("order-1"), await desk.state("order-2")]).toEqual(["stuck", "sending"]);
  expect(await operator.restored({ since, dryRun: true })).toEqual({ obligations: 2 });
  expect(await desk.state("order-2")).toBe("sending");
  expect(await operator.restored({ since })).toEqual({ obligations: 2 });
  await desk.work();
  expect((await desk.see("order-0")).obligation).toMatchObject({ state: "done", reached: "yes" });
  expect((await desk.see("order-1")).obligation).toMatchObject({ state: "stuck", reached: "maybe" });
  const { obligation, attempts, lease } = await desk.see("order-2");
  expect({ obligation, attempts, lease }).toMatchObject({
    obligation: { state: "uncertain", reached: "maybe", dueAt: null },
    attempts: [{ verdict: "crashed", cause: "restored" }],
    lease: null,
  });
  await expect(operator.retry(target)).rejects.toEqual(coded("NOT_ALLOWED"));
  expect(office.provider.counts().effects).toBe(effects);
});

test("what must not be sent yet is left alone, and goes at its time", async () => {
  const { office, since, desk, operator } = await restore(lookedUp, (original, { clock }) =>
    original.owe("order-1", undefined, { notBefore: new Date(clock.wallMs() + 48 * hour) }),
  );
  expect(await operator.restored({ since, dryRun: true })).toEqual({ obligations: 0 });
  expect(await operator.restored({ since })).toEqual({ obligations: 0 });
  await desk.work();
  expect([await desk.state("order-1"), office.provider.counts().effects]).toEqual(["owed", 0]);
  office.clock.advance(48 * hour);
  await desk.work();
  expect(office.provider.counts().effects).toBe(1);
});

test("saying it twice marks once, and whoever was decided in between stays so", async () => {
  const { office, since, desk, operator } = await restore(keyless, async (original) => {
    await original.owe("order-1");
    await original.owe("order-2");
  });
  expect(await operator.restored({ since })).toEqual({ obligations: 2 });
  await operator.done({ ...target, evidence: "the carrier has it" });
  expect(await operator.restored({ since })).toEqual({ obligations: 0 });
  expect([await desk.state("order-1"), await desk.state("order-2")]).toEqual(["done", "uncertain"]);
  expect(office.provider.counts().effects).toBe(2);
});

test("it is refused while a worker is at work on what was put back, and for a time that is still to come", async () => {
  const { office, since, desk, operator } = await restore(keyless);
  const sign = { name: "early bird", effects: [], forgetMs: hour };
  await desk.runtime.store.transaction((tx) => tx.seeWorker(sign), { waitMs: 5_000 });
  await expect(operator.restored({ since })).rejects.toEqual(coded("NOT_ALLOWED", /early bird is at work on it; stop/));
  expect(await operator.restored({ since, dryRun: true })).toEqual({ obligations: 1 });
  office.clock.advance(121_000);
  expect(await operator.restored({ since })).toEqual({ obligations: 1 });
  await expect(operator.restored({ since: since + 2 * hour })).rejects.toThrow(RangeError);
});

test("a worker that ended in order is not in its way, however short ago", async () => {
  const { since, desk, operator } = await restore(keyless);
  await desk.work();
  expect((await operator.status()).workers).toHaveLength(1);
  expect(await operator.restored({ since })).toEqual({ obligations: 0 });
});

const line = { orderKey: ["customer", "1"] } as const;

test("a lookup's absent lets none overtake an earlier one of its order key whose lookup cannot tell", async () => {
  const { office, since, desk, operator } = await restore(
    lookedUp,
    async (original, { provider }) => {
      for (const order of ["order-1", "order-2"]) await original.owe(order, undefined, line);
      provider.failWhen(({ method }) => (method === "POST" ? answered(503) : undefined));
    },
    { provider: { contract: "ignores" } },
  );
  await operator.restored({ since });
  office.provider.failWhen(({ method, url }) =>
    method === "GET" && url.includes("order-1") ? answered(503) : undefined,
  );
  await desk.work();
  office.clock.advance(11_000);
  await desk.work();
  expect([await desk.state("order-1"), await desk.state("order-2")]).toEqual(["uncertain", "owed"]);
  expect((await desk.see("order-2")).waitsBehind).toMatchObject({ state: "uncertain" });
  office.provider.failWhen(() => undefined);
  office.clock.advance(hour);
  await desk.work();
  expect(office.provider.effects.map(({ ref }) => ref)).toEqual(["acme/order-1/fulfil/v1", "acme/order-2/fulfil/v1"]);
});

test("an operator who sends a later one again is told what it waits behind, and it keeps its place", async () => {
  const { office, since, desk, operator } = await restore(keyless, async (original) => {
    for (const order of ["order-1", "order-2"]) await original.owe(order, undefined, line);
  });
  await operator.restored({ since });
  const sent = office.provider.counts().effects;
  const later = { tenant: "acme", operationKey: "order-2/fulfil/v1" };
  const says = 'It is owed again and waits behind "order-1/fulfil/v1" of its order key, which is uncertain';
  expect(await operator.renewKey({ ...later, confirm: true })).toEqual({ changed: true, says });
  await desk.work();
  expect(office.provider.counts().effects).toBe(sent);
  const { audit } = await desk.see("order-2");
  expect(JSON.parse(audit.at(-1)?.after ?? "")).toMatchObject({ state: "owed", dueAt: null });
  await operator.renewKey({ ...later, operationKey: "order-1/fulfil/v1", confirm: true });
  await desk.work();
  expect(office.provider.effects.slice(sent).map(({ ref }) => ref?.split("/")[1])).toEqual(["order-1", "order-2"]);
});
