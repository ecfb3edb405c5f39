/** Retention as an operator and a worker do it: what goes, what is told of it, and what still holds afterwards. */

import { expect, test } from "vitest";
import { Retention } from "../../src/operator/retention.ts";
import { transact } from "../../src/work/transact.ts";
import { tenant } from "../outbox/office.ts";
import { ours } from "../support/engine.ts";
import { answered, open, operatorAt, target } from "./counter.ts";

const day = 86_400_000;
const none = { payloads: 0, requests: 0, answers: 0, attempts: 0, refusals: 0 };

test("prune counts what would go, then removes it and audits it once; what is open and every key stays", async () => {
  const { office, desk, operator } = await open();
  await desk.work();
  office.provider.failNext(answered(422));
  await desk.owe("order-2");
  await desk.work();
  office.clock.advance(29 * day);
  expect(await operator.prune()).toEqual(none);
  office.clock.advance(2 * day);
  const month = { ...none, requests: 1, answers: 1 };
  expect([await operator.prune({ dryRun: true }), await operator.prune({ dryRun: true })]).toEqual([month, month]);
  expect((await desk.see("order-1")).request).not.toBeNull();
  expect(await operator.prune({ why: "disk" })).toEqual(month);
  expect(await operator.prune()).toEqual(none);
  office.clock.advance(60 * day);
  expect(await operatorAt(desk, "bob").prune()).toEqual({ ...none, attempts: 1 });
  const done = await operator.obligation(tenant, target.operationKey);
  expect(done).toMatchObject({ input: null, request: null, requestDigest: null, answer: null, attempts: [] });
  expect(await desk.see("order-2")).toMatchObject({ obligation: { state: "stuck" }, attempts: [{ status: 422 }] });
  expect((await desk.see("order-2")).request).not.toBeNull();
  await desk.owe("order-1");
  await desk.work();
  expect(office.provider.counts()).toMatchObject({ requests: 2, effects: 1 });
});

test("the audit says who pruned by which rules, and at the end how much", async () => {
  const { office, desk, operator } = await open();
  await desk.work();
  office.clock.advance(31 * day);
  await operator.prune({ dryRun: true });
  await operator.prune({ why: "disk" });
  await operator.prune();
  const text = `SELECT who, action, why, after FROM ${ours("audit")} WHERE target = ? ORDER BY id`;
  const rows = await transact(desk.runtime, (tx) => tx.run(text, ["retention"]));
  const entry = { who: "ada", action: "prune", why: "disk" };
  expect([...rows]).toEqual([
    { ...entry, after: expect.stringContaining(`"requests":${30 * day}`) },
    { ...entry, after: JSON.stringify({ removed: { ...none, requests: 1, answers: 1 } }) },
  ]);
});

test("a worker does the same by and by, an hour after it last found nothing", async () => {
  const { office, desk } = await open();
  const retention = new Retention(desk.runtime);
  await desk.work();
  office.clock.advance(31 * day);
  expect(await retention.run()).toBe(true);
  expect((await desk.see("order-1")).request).toBeNull();
  expect([await retention.run(), await retention.run()]).toEqual([true, false]);
  expect((await desk.see("order-1")).answer).toMatchObject({ status: 201, body: new Uint8Array() });
  office.clock.advance(60 * day);
  expect(await retention.run()).toBe(true);
  expect((await desk.see("order-1")).attempts).toEqual([]);
});
