/**
 * The experiment of "Webhook retries: test the gap between database commit and external calls", its
 * five groups on the product, and then what that article says it does not show.
 */
import { startFakeProvider } from "counterfoil/testing";
import { afterEach, describe, expect, test } from "vitest";
import { eventually } from "../src/testing/eventually.ts";
import { startProcess } from "../src/testing/processes.ts";
import { ours } from "./support/engine.ts";
import { openApp, orderApp, payment, placeOrders, rows, temporaryDatabase } from "./support/order-app.ts";

const scopes: AsyncDisposableStack[] = [];
afterEach(async () => {
  for (const scope of scopes.splice(0)) await scope.disposeAsync();
});

function scope(): AsyncDisposableStack {
  const stack = new AsyncDisposableStack();
  scopes.push(stack);
  return stack;
}

async function counts(
  app: Parameters<typeof rows>[0],
): Promise<{ receipts: number; obligations: number; status: string }> {
  const { receipts, obligations } = await app.operator({ who: "test" }).status();
  const sum = (group: Readonly<Record<string, number>>): number =>
    Object.values(group).reduce((all, each) => all + each, 0);
  const [order] = await rows<{ status: string }>(app, "SELECT status FROM orders WHERE id = 'order-1'");
  return { receipts: sum(receipts), obligations: sum(obligations), status: order?.status ?? "none" };
}

describe("one payment, one order, one shipment", () => {
  test("an injected failure leaves receipt, order and obligation unchanged", async () => {
    const stack = scope();
    const { address } = stack.use(await temporaryDatabase());
    let fail = true;
    const { app } = stack.use(
      await openApp(
        orderApp(address, {
          beforeOwe: () => {
            if (fail) throw new Error("injected before the shipment is owed");
          },
        }),
      ),
    );
    await placeOrders(app, "order-1");
    await expect(app.receive("stripe", payment("evt-17"))).rejects.toMatchObject({ code: "HANDLER_FAILED" });
    expect(await counts(app)).toEqual({ receipts: 0, obligations: 0, status: "awaiting_payment" });
    fail = false;
    expect(await app.receive("stripe", payment("evt-17"))).toMatchObject({ outcome: "applied", duplicate: false });
    expect(await counts(app)).toEqual({ receipts: 1, obligations: 1, status: "paid" });
  });

  test("16 processes with one event produce one receipt and one obligation", async () => {
    const stack = scope();
    const { address } = stack.use(await temporaryDatabase());
    const { app } = stack.use(await openApp(orderApp(address)));
    await placeOrders(app, "order-1");
    const file = new URL("./children/receive.ts", import.meta.url);
    const children = Array.from({ length: 16 }, () => stack.use(startProcess(file, { arguments: [address] })));
    const answers = await Promise.all(children.map((child) => child.ask("receive", "evt-17")));
    const firsts = answers.filter((answer) => !(answer as { duplicate: boolean }).duplicate);
    expect(firsts).toEqual([{ outcome: "applied", duplicate: false }]);
    expect(await counts(app)).toEqual({ receipts: 1, obligations: 1, status: "paid" });
  });

  test("a distinct event for the paid order creates no second obligation", async () => {
    const stack = scope();
    const { address } = stack.use(await temporaryDatabase());
    const { app } = stack.use(await openApp(orderApp(address)));
    await placeOrders(app, "order-1");
    await app.receive("stripe", payment("evt-17"));
    expect(await app.receive("stripe", payment("evt-18"))).toMatchObject({
      outcome: "refused",
      reason: "order is paid",
    });
    expect(await counts(app)).toEqual({ receipts: 2, obligations: 1, status: "paid" });
  });

  test("a lost acknowledgment is retried without a second effect", async () => {
    const stack = scope();
    const { address } = stack.use(await temporaryDatabase());
    const carrier = stack.use(await startFakeProvider());
    const { app } = stack.use(
      await openApp(orderApp(address, { carrier: carrier.url, limits: { retryFirstMs: 10, pollMs: 50 } })),
    );
    await placeOrders(app, "order-1");
    await app.receive("stripe", payment("evt-17"));
    carrier.failNext({ when: "after", kind: "reset" });
    await app.start({ roles: ["worker"] });
    await eventually(async () => (await app.operator({ who: "test" }).status()).obligations.done === 1);
    expect(carrier.counts()).toMatchObject({ requests: 2, effects: 1 });
    expect(await rows(app, "SELECT tracking FROM orders")).toMatchObject([{ tracking: carrier.effects[0]?.id }]);
  });

  test("deleted receipts let the event in again, and the order's own state prevents a second obligation", async () => {
    const stack = scope();
    const { address } = stack.use(await temporaryDatabase());
    const { app } = stack.use(await openApp(orderApp(address)));
    await placeOrders(app, "order-1");
    await app.receive("stripe", payment("evt-17"));
    await rows(app, `DELETE FROM ${ours("receipts")}`);
    expect(await app.receive("stripe", payment("evt-17"))).toMatchObject({ outcome: "refused", duplicate: false });
    expect(await counts(app)).toEqual({ receipts: 1, obligations: 1, status: "paid" });
  });
});
