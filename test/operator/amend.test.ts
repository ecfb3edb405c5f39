/** What an operator may do about a wrong request. */
import { expect, test } from "vitest";
import { sendEffect, type SendContext } from "../../src/domain/effect.ts";
import type { Order, Shipment } from "../outbox/office.ts";
import { answered, coded, hour, open, openUncertain, target } from "./counter.ts";

const right = { order: "order-1", street: "Right St 1" };

test("a request that was refused is amended, and goes out once under a new key", async () => {
  const { office, desk, operator } = await open();
  office.provider.failNext(answered(422));
  await desk.work();
  const before = await desk.see("order-1");
  expect(await operator.amend({ ...target, json: right, why: "misspelt" })).toMatchObject({ changed: true });
  await desk.work();
  const { obligation, request, requestDigest, audit } = await desk.see("order-1");
  expect(obligation).toMatchObject({ state: "done", generation: 2, operationKey: target.operationKey });
  expect(JSON.parse(new TextDecoder().decode(request?.body ?? undefined))).toEqual(right);
  expect(new Set(office.provider.requests.map(({ key }) => key)).size).toBe(2);
  expect(office.provider.counts().effects).toBe(1);
  expect(audit).toMatchObject([{ action: "amend", why: "misspelt" }]);
  expect(JSON.parse(audit[0]?.before ?? "")).toMatchObject({ request: before.requestDigest });
  expect(JSON.parse(audit[0]?.after ?? "")).toMatchObject({ request: requestDigest, generation: 2 });
  expect(JSON.stringify(audit)).not.toContain("Right St");
});

test("one that may have taken effect as it was owed is not", async () => {
  const { desk, operator } = await openUncertain();
  const before = await desk.see("order-1");
  await expect(operator.amend({ ...target, json: right })).rejects.toEqual(coded("NOT_ALLOWED", /look it up/));
  expect((await desk.see("order-1")).request).toEqual(before.request);
});

test("one that is done, goes elsewhere, or is replaced by nothing is not", async () => {
  const { office, desk, operator } = await open();
  await expect(operator.amend(target)).rejects.toThrow(/nothing to replace/);
  await expect(operator.amend({ ...target, url: "https://elsewhere.example/1" })).rejects.toEqual(
    coded("NOT_ALLOWED", /must stay at/),
  );
  await desk.work();
  await expect(operator.amend({ ...target, json: right })).rejects.toEqual(coded("NOT_ALLOWED"));
  expect(office.provider.counts().effects).toBe(1);
});

test("a double click amends once", async () => {
  const { desk, operator } = await open();
  const { fence } = (await desk.see("order-1")).obligation;
  await operator.amend({ ...target, fence, json: right });
  await expect(operator.amend({ ...target, fence, json: right })).rejects.toEqual(coded("CHANGED"));
});

test("one that must not be sent yet, or not before another, is amended and waits on", async () => {
  const { office, desk, operator } = await open();
  const orderKey = ["customer", "1"] as const;
  await desk.owe("order-2", undefined, { notBefore: new Date(office.clock.wallMs() + 48 * hour), orderKey });
  await desk.owe("order-3", undefined, { orderKey });
  for (const order of ["order-2", "order-3"]) {
    await operator.amend({ tenant: target.tenant, operationKey: `${order}/fulfil/v1`, json: { order } });
  }
  await desk.work();
  expect([await desk.state("order-2"), await desk.state("order-3")]).toEqual(["owed", "owed"]);
  office.clock.advance(48 * hour);
  await desk.work();
  expect([await desk.state("order-2"), await desk.state("order-3")]).toEqual(["done", "done"]);
});

test("the input of an effect that a function sends is amended, and reaches the function and its hook", async () => {
  const seen: string[] = [];
  const input = {
    "~standard": {
      version: 1,
      vendor: "test",
      validate: (value: unknown) =>
        typeof (value as Order | null)?.order === "string"
          ? { value: { order: (value as Order).order.trim() } }
          : { issues: [{ message: "no order", path: ["order"] }] },
    },
  } as const;
  const ship = sendEffect<Order, Shipment>("ship/v1", {
    input,
    destination: "carrier",
    idempotency: { keyLifetime: "24h" },
    send: async ({ operation, idempotencyKey, declined, done }: SendContext<Order, Shipment>) => {
      seen.push(`sent ${operation.input.order} ${idempotencyKey}`);
      return operation.input.order === "order-1" ? declined("no such order") : done({ id: "s-1" });
    },
    settled: async ({ operation }) => void seen.push(`settled ${operation.input.order}`),
  });
  const { desk, operator } = await open({}, () => ({ effects: [ship] }));
  await desk.work();
  expect(await desk.state("order-1")).toBe("stuck");
  await expect(operator.amend({ ...target, url: "https://carrier.example/" })).rejects.toEqual(
    coded("NOT_ALLOWED", /sent by a function from its input and has no URL of ours; give the new input/),
  );
  await expect(operator.amend({ ...target, json: { street: "Right St 1" } })).rejects.toEqual(
    coded("NOT_ALLOWED", /the new input does not fit at "order"/),
  );
  await operator.amend({ ...target, json: { order: " order-2 " } });
  await desk.work();
  expect(await desk.state("order-1")).toBe("done");
  expect(seen.map((line) => line.split(" ").slice(0, 2).join(" "))).toEqual([
    "sent order-1",
    "sent order-2",
    "settled order-2",
  ]);
  expect(new Set(seen.slice(0, 2).map((line) => line.split(" ")[2])).size).toBe(2);
});
