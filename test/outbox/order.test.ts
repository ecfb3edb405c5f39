/** Effects that must not overtake each other, and effects that have to wait for a time. */
import { expect, test } from "vitest";
import { Operator } from "../../src/operator/operator.ts";
import { transact } from "../../src/work/transact.ts";
import { runUnit } from "../../src/work/unit.ts";
import { noConnections } from "../support/no-connections.ts";
import { type Desk, type Office, openOffice, tenant } from "./office.ts";

const hour = 3_600_000;

interface When {
  readonly customer?: string;
  readonly notBefore?: Date;
}

function owe(office: Office, { runtime }: Desk, order: string, { customer, notBefore }: When): Promise<void> {
  const scope = { tenant, connection: "", account: "", receiptId: null };
  return transact(runtime, (tx, signals) =>
    runUnit(tx, { scope, runtime, signals }, (work) =>
      work.owe(office.ship, {
        key: [order, "fulfil", "v1"],
        input: { order },
        ...(customer !== undefined && { orderKey: ["customer", customer] }),
        ...(notBefore && { notBefore }),
      }),
    ),
  );
}

function arrived(office: Office): (string | undefined)[] {
  return office.provider.requests.map(({ ref }) => ref?.split("/")[1]);
}

test("effects of one order key reach the provider one after the other, in the order they were owed", async () => {
  await using office = await openOffice();
  const desk = await office.desk();
  const orders = Array.from({ length: 8 }, (_, index) => `order-${index}`);
  for (const order of orders) await owe(office, desk, order, { customer: "1" });
  await desk.work();
  expect(arrived(office)).toEqual(orders);
});

test("one that is stuck holds up its own order key alone, says so, and the operator's decision frees it", async () => {
  await using office = await openOffice();
  const desk = await office.desk();
  office.provider.failWhen(({ ref }) =>
    ref?.includes("order-1") ? { when: "before", kind: "answer", status: 422 } : undefined,
  );
  for (const order of ["order-1", "order-2", "order-3"]) await owe(office, desk, order, { customer: "1" });
  await owe(office, desk, "order-4", { customer: "2" });
  await owe(office, desk, "order-5", {});
  await desk.work();
  expect(new Set(arrived(office))).toEqual(new Set(["order-1", "order-4", "order-5"]));
  const operator = new Operator({ runtime: desk.runtime, connections: noConnections(desk.runtime), who: "ada" });
  const report = await operator.obligation(tenant, "order-2/fulfil/v1");
  expect(report.next).toEqual({
    text: 'it waits behind "order-1/fulfil/v1" of its order key, which is stuck',
    at: null,
    needsOperator: false,
  });
  const behind = { tenant, operationKey: "order-2/fulfil/v1" };
  await expect(operator.retry(behind)).rejects.toThrow(/waits behind "order-1\/fulfil\/v1".*decide about that one/);
  await expect(operator.renewKey(behind)).rejects.toThrow(/waits behind/);
  await operator.cancel({ tenant, operationKey: "order-1/fulfil/v1", reason: "no such address" });
  await desk.work();
  expect(arrived(office).slice(3)).toEqual(["order-2", "order-3"]);
});

test("one that may have taken effect holds up the next until its lookup tells", async () => {
  await using office = await openOffice();
  const ship = office.effect({ lookup: office.lookup, idempotency: "none" });
  const desk = await office.desk({ effects: [ship] });
  office.provider.failWhen(({ ref, method }) =>
    method === "POST" && ref?.includes("order-1") ? { when: "after", kind: "reset" } : undefined,
  );
  for (const order of ["order-1", "order-2"]) {
    await owe({ ship } as Office, desk, order, { customer: "1" });
  }
  await desk.work();
  expect(office.provider.counts().effects).toBe(1);
  office.clock.advance(hour);
  await desk.work();
  expect(office.provider.effects.map(({ ref }) => ref)).toEqual(["acme/order-1/fulfil/v1", "acme/order-2/fulfil/v1"]);
});

test("what must not go before a time goes then", async () => {
  await using office = await openOffice();
  const desk = await office.desk();
  await owe(office, desk, "order-1", { notBefore: new Date(office.clock.wallMs() + 48 * hour) });
  await owe(office, desk, "order-2", { notBefore: new Date(office.clock.wallMs() - hour) });
  await desk.work();
  expect(arrived(office)).toEqual(["order-2"]);
  for (let n = 0; n < 47; n += 1) {
    office.clock.advance(hour);
    await desk.work();
  }
  expect(arrived(office)).toEqual(["order-2"]);
  office.clock.advance(hour);
  await desk.work();
  expect(arrived(office)).toEqual(["order-2", "order-1"]);
});

test("a time that is none is refused when it is owed", async () => {
  await using office = await openOffice();
  const desk = await office.desk();
  await expect(owe(office, desk, "order-1", { notBefore: new Date("soon") })).rejects.toThrow(
    'Cannot owe "ship/v1": its notBefore is no valid Date',
  );
});
