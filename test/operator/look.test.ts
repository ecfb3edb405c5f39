import { expect, test } from "vitest";
import { tenant } from "../outbox/office.ts";
import { answered, coded, hour, open, openUncertain, operatorAt, target } from "./counter.ts";

test("resume lets a paused destination be called again, once", async () => {
  const { office, desk, operator } = await open();
  const destination = office.provider.url;
  office.provider.failNext(answered(401));
  await desk.work();
  expect(await operator.attention()).toMatchObject([{ kind: "destination", destination }]);
  expect((await operator.obligation(tenant, target.operationKey)).next).toMatchObject({
    needsOperator: true,
    text: expect.stringContaining("resume"),
  });
  office.clock.advance(hour);
  await desk.work();
  expect(office.provider.counts().requests).toBe(1);
  expect(await operator.resume({ destination, why: "the token was renewed" })).toMatchObject({ changed: true });
  expect(await operator.resume({ destination })).toEqual({ changed: false, says: "It is not paused" });
  await desk.work();
  expect(await desk.state("order-1")).toBe("done");
});

test("what is not there is named, with where to look", async () => {
  const { operator } = await open();
  const missing = { tenant, operationKey: "order-2/fulfil/v1" };
  await expect(operator.retry(missing)).rejects.toEqual(
    coded("NOT_FOUND", /obligation "order-2\/fulfil\/v1" of acme: .*list the obligations/),
  );
  await expect(operator.obligation("other", target.operationKey)).rejects.toEqual(coded("NOT_FOUND"));
});

test("an audit row holds no payload: neither input, nor request, nor answer", async () => {
  const counter = await openUncertain();
  await counter.desk.owe("canary");
  const key = { tenant, operationKey: "canary/fulfil/v1" };
  await counter.operator.done({ ...key, evidence: "seen", answer: { id: "canary-answer" } });
  const { audit } = await counter.desk.see("canary");
  expect(audit).toHaveLength(1);
  expect(JSON.stringify(audit)).not.toContain("canary");
});

test("an operator has a name, and a page has its bounds", async () => {
  const { desk, operator } = await open();
  expect(() => operatorAt(desk, " ")).toThrow(/operator's name is empty/);
  expect(() => operator.obligations({}, { limit: 501 })).toThrow(/a page has 1 to 500/);
  await desk.owe("order-2");
  const [newest] = await operator.obligations({ tenant }, { limit: 1 });
  const [older, ...rest] = await operator.obligations({ tenant }, { limit: 5, before: newest!.id });
  expect([newest!.operationKey, older!.operationKey, rest]).toEqual(["order-2/fulfil/v1", "order-1/fulfil/v1", []]);
  expect((await operator.status()).obligations).toEqual({ owed: 2 });
});

test("what needs an operator comes page by page, each behind the cursor of the last", async () => {
  const { office, desk, operator } = await open();
  for (const order of ["order-2", "order-3"]) await desk.owe(order);
  office.provider.failNext(...["order-1", "order-2", "order-3"].map(() => answered(422)));
  await desk.work();
  const keys: string[] = [];
  let after: string | undefined;
  for (;;) {
    const [item] = await operator.attention({ limit: 1, after });
    if (item === undefined) break;
    keys.push(item.kind === "obligation" ? item.obligation.operationKey : item.kind);
    after = item.cursor;
  }
  expect(keys).toEqual(["order-1/fulfil/v1", "order-2/fulfil/v1", "order-3/fulfil/v1"]);
  expect(() => operator.attention({ limit: 0 })).toThrow(/a page has 1 to 500/);
  await expect(operator.attention({ after: "3" })).rejects.toThrow(/Cannot go on after "3": it is no cursor/);
});

test("a report tells what happens next, when, and how long the key is good", async () => {
  const { office, operator, desk } = await open();
  office.provider.failNext(answered(503));
  expect((await operator.obligation(tenant, target.operationKey)).next).toMatchObject({
    text: "it is sent",
    needsOperator: false,
  });
  await desk.work();
  const { key, next, obligation } = await operator.obligation(tenant, target.operationKey);
  expect(next).toEqual({
    text: "it is sent again: the same request under the same key",
    at: obligation.dueAt,
    needsOperator: false,
  });
  expect(key).toEqual({ kind: "good", remainingMs: 24 * hour - desk.runtime.limits.keyMarginMs });
});
