import { expect, test } from "vitest";
import type { Office } from "../outbox/office.ts";
import { answered, coded, hour, open, openUncertain, target } from "./counter.ts";

const wireKeys = ({ provider }: Office) =>
  provider.requests.filter(({ method }) => method === "POST").map(({ key }) => key);

test("retry sends a stuck obligation again, under the same key, and its audit says who, why, before and after", async () => {
  const { office, desk, operator } = await open();
  office.provider.failNext(answered(422));
  await desk.work();
  expect(await desk.state("order-1")).toBe("stuck");

  const acted = await operator.retry({ ...target, why: "the address was mended" });
  expect(acted).toEqual({ changed: true, says: expect.stringContaining("It is due now") });
  const { obligation, audit } = await desk.see("order-1");
  expect(obligation).toMatchObject({ state: "owed", tries: 0, crashes: 0, lookups: 0, reason: null });
  expect(audit).toMatchObject([{ who: "ada", action: "retry", why: "the address was mended" }]);
  expect(JSON.parse(audit[0]!.before!)).toMatchObject({ state: "stuck", generation: 1 });
  expect(JSON.parse(audit[0]!.after!)).toMatchObject({ state: "owed", generation: 1 });
  expect(desk.events).toContainEqual({
    kind: "operator.acted",
    action: "retry",
    target: `obligation/${obligation.id}`,
    who: "ada",
  });

  await desk.work();
  expect(await desk.state("order-1")).toBe("done");
  expect(new Set(wireKeys(office)).size).toBe(1);
  expect(office.provider.counts().effects).toBe(1);
});

test("retry makes a waiting obligation due before its time", async () => {
  const { office, desk, operator } = await open();
  office.provider.failNext(answered(503));
  await desk.work();
  expect((await desk.see("order-1")).obligation.dueAt).toBeGreaterThan(office.clock.wallMs());
  await operator.retry(target);
  await desk.work();
  expect(await desk.state("order-1")).toBe("done");
  expect(office.provider.counts().effects).toBe(1);
});

test("retry is refused where the first may have taken effect and no key can tell, and says what can", async () => {
  const { office, desk, operator } = await openUncertain();
  await expect(operator.retry(target)).rejects.toEqual(
    coded("NOT_ALLOWED", /provider keeps no keys; renew the key if you know/),
  );
  expect((await desk.see("order-1")).audit).toEqual([]);
  await desk.work();
  expect(office.provider.counts().effects).toBe(1);
});

test("retry is refused once the key is too old, and points to the lookup", async () => {
  const { office, desk, operator } = await open({}, (of) => ({ effects: [of.effect({ lookup: of.lookup })] }));
  office.provider.failNext({ when: "after", kind: "answer", status: 402 });
  await desk.work();
  expect(await desk.state("order-1")).toBe("stuck");
  office.clock.advance(25 * hour);
  await expect(operator.retry(target)).rejects.toEqual(
    coded("NOT_ALLOWED", /too old to prevent a second one; look it up/),
  );
});

test("renew-key needs the operator's word, sends under another key, and is audited as a forced one", async () => {
  const { office, desk, operator } = await openUncertain();
  await expect(operator.renewKey(target)).rejects.toEqual(coded("NOT_ALLOWED", /confirm that you know it did not/));
  expect((await operator.renewKey({ ...target, confirm: true, why: "the carrier has no shipment" })).changed).toBe(
    true,
  );
  expect(await operator.renewKey({ ...target, confirm: true })).toEqual({
    changed: false,
    says: expect.stringContaining("renewed already"),
  });
  const { obligation, audit } = await desk.see("order-1");
  expect(obligation).toMatchObject({ state: "owed", generation: 2, keySince: null, reached: "maybe" });
  expect(audit).toMatchObject([{ action: "renew-key (confirmed)", why: "the carrier has no shipment" }]);
  await desk.work();
  expect(await desk.state("order-1")).toBe("done");
  expect(office.provider.counts().effects).toBe(2);
});

test("a renewed key is another key on the wire", async () => {
  const { office, desk, operator } = await open();
  office.provider.failNext({ when: "before", kind: "answer", status: 402, kept: true });
  await desk.work();
  await operator.renewKey({ ...target, confirm: true });
  await desk.work();
  expect(await desk.state("order-1")).toBe("done");
  expect(new Set(wireKeys(office)).size).toBe(2);
});

test("lookup finds what took effect and settles it without a second call", async () => {
  const { office, desk, operator } = await openUncertain(true);
  await desk.work();
  office.clock.advance(9_000);
  const { says } = await operator.lookup(target);
  expect(says).toMatch(/counts from 2026-01-01T00:00:10\.\d{3}Z on/);
  expect(await operator.lookup(target)).toEqual({ changed: false, says: expect.stringContaining("due already") });
  await desk.work();
  expect(await desk.state("order-1")).toBe("done");
  expect(office.provider.counts().effects).toBe(1);
});

test("a lookup that says absent sends again by itself", async () => {
  const { office, desk, operator } = await open({ provider: { contract: "ignores" } }, (of) => ({
    effects: [of.effect({ idempotency: "none", lookup: of.lookup })],
  }));
  office.provider.failNext({ when: "before", kind: "reset" });
  await desk.work();
  office.clock.advance(hour);
  await operator.lookup(target);
  await desk.work();
  expect(await desk.state("order-1")).toBe("done");
  expect(office.provider.counts().effects).toBe(1);
});

test("lookup is refused where there is none, and where nothing can have arrived", async () => {
  const { operator } = await openUncertain();
  await expect(operator.lookup(target)).rejects.toEqual(
    coded("NOT_ALLOWED", /ship\/v1 has no lookup; ask the provider yourself/),
  );
  const { operator: other } = await open({}, (of) => ({ effects: [of.effect({ lookup: of.lookup })] }));
  await expect(other.lookup(target)).rejects.toEqual(
    coded("NOT_ALLOWED", /nothing can have reached the provider yet; retry sends it/),
  );
});
