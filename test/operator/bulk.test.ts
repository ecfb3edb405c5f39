/** One word for many things: counted first, each audited and refused by itself. */
import { expect, test } from "vitest";
import { openApp, orderApp, payment, placeOrders, temporaryDatabase } from "../support/order-app.ts";
import { answered, hour, open, openUncertain } from "./counter.ts";

const none = { changed: 0, unchanged: 0, refused: 0, refusals: [] };

test("many are counted, then made due; others stay, and each has its audit row", async () => {
  const { office, desk, operator } = await open();
  for (const order of ["order-2", "order-3"]) await desk.owe(order);
  office.provider.failNext(answered(422), answered(422), answered(422));
  await desk.work();
  office.clock.advance(hour);
  const since = office.clock.wallMs();
  await desk.owe("order-4");
  office.provider.failNext(answered(422));
  await desk.work();
  const retry = { action: "retry", where: { effect: "ship/v1", since } } as const;
  expect(await operator.bulk({ ...retry, dryRun: true })).toEqual({ ...none, matched: 1 });
  expect(await desk.state("order-4")).toBe("stuck");
  expect(await operator.bulk({ ...retry, why: "mended" })).toEqual({ ...none, matched: 1, changed: 1 });
  expect(await desk.state("order-4")).toBe("owed");
  expect(await operator.bulk(retry)).toEqual({ ...none, matched: 0 });
  expect((await desk.see("order-4")).audit).toMatchObject([{ who: "ada", action: "retry", why: "mended" }]);

  const cancel = { action: "cancel", where: { tenant: "acme", keyPrefix: "order-2/" }, reason: "withdrawn" } as const;
  expect(await operator.bulk(cancel)).toEqual({ ...none, matched: 1, changed: 1 });
  expect(await operator.bulk({ action: "retry", where: { connection: "elsewhere" } })).toMatchObject({ matched: 0 });
  expect(await operator.bulk({ action: "retry", where: {} })).toMatchObject({ matched: 2, changed: 2 });
  await desk.work();
  const states = ["order-1", "order-2", "order-3", "order-4"].map((order) => desk.state(order));
  expect(await Promise.all(states)).toEqual(["done", "cancelled", "done", "done"]);
  expect(office.provider.counts().effects).toBe(3);
});

test("what the action does not fit is refused with what to do instead, and the rest goes on", async () => {
  const { office, desk, operator } = await openUncertain();
  const result = await operator.bulk({ action: "retry", where: { state: "uncertain" } });
  expect(result).toMatchObject({ matched: 1, changed: 0, refused: 1 });
  expect(result.refusals).toEqual([expect.stringContaining("renew the key if you know that it did not")]);
  await desk.work();
  expect(office.provider.counts().effects).toBe(1);
});

test("a blank reason is refused before anything is touched", async () => {
  const { desk, operator } = await open();
  await expect(operator.bulk({ action: "cancel", where: { state: "owed" }, reason: " " })).rejects.toThrow(TypeError);
  expect(await desk.state("order-1")).toBe("owed");
});

test("held events are applied once their handler is mended, by type and connection", async () => {
  await using stack = new AsyncDisposableStack();
  const database = stack.use(await temporaryDatabase());
  let broken = true;
  const { app } = stack.use(
    await openApp(
      orderApp(database.address, {
        beforeOwe: () => {
          if (broken) throw new Error("not yet");
        },
      }),
    ),
  );
  const orders = ["order-1", "order-2", "order-3"];
  await placeOrders(app, ...orders);
  for (const order of orders) {
    const { headers, body } = payment(`evt-${order}`, order);
    await app.fetch(new Request("http://x/hooks/stripe", { method: "POST", headers, body: Buffer.from(body) }));
  }
  const operator = app.operator({ who: "ada" });
  const apply = { action: "apply", where: { type: "payment_intent.succeeded", connection: "stripe" } } as const;
  expect(await operator.bulk({ ...apply, dryRun: true })).toEqual({ ...none, matched: 3 });
  expect(await operator.bulk({ ...apply, where: { type: "charge.refunded" } })).toMatchObject({ matched: 0 });
  broken = false;
  expect(await operator.bulk(apply)).toEqual({ ...none, matched: 3, changed: 3 });
  expect((await operator.receipts()).map(({ outcome }) => outcome)).toEqual(["applied", "applied", "applied"]);
  const again = await operator.bulk({ action: "reprocess", where: { outcome: "applied" } });
  expect(again).toMatchObject({ matched: 3, refused: 0 });
  expect(await operator.obligations()).toHaveLength(3);
});

test("a destination that an operator paused is not called until it is resumed; saying it twice changes nothing", async () => {
  const { office, desk, operator } = await open();
  const destination = office.provider.url;
  const pause = { destination, reason: "they asked us to" };
  expect(await operator.pause(pause)).toMatchObject({ changed: true });
  expect(await operator.pause(pause)).toEqual({ changed: false, says: "It is paused already: they asked us to" });
  await desk.work();
  expect([await desk.state("order-1"), office.provider.counts().requests]).toEqual(["owed", 0]);
  expect(await operator.attention()).toMatchObject([{ kind: "destination", reason: "they asked us to" }]);
  await operator.resume({ destination });
  await desk.work();
  expect(await desk.state("order-1")).toBe("done");
  await expect(operator.pause({ ...pause, destination: `${destination}/v1` })).rejects.toThrow("it is no origin");
  await expect(operator.pause({ destination, reason: "" })).rejects.toThrow("the reason is blank");
});
