/** A disk without room: nothing is acknowledged that is not kept, nothing is forgotten, and nobody restarts anything. */
import { execFileSync } from "node:child_process";
import { appendFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { getuid } from "node:process";
import type { App, TelemetryEvent } from "counterfoil";
import { expect, test } from "vitest";
import { eventually } from "../../src/testing/eventually.ts";
import { startFakeProvider } from "../../src/testing/fake-provider.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { openApp, orderApp, payment, placeOrders, temporaryDatabase } from "../support/order-app.ts";
import { deliver } from "./deliver.ts";

/** A small disk of its own for a database, which only root may mount. */
function smallDisk(path: string): Disposable {
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=4m", "tmpfs", dirname(path)]);
  return { [Symbol.dispose]: () => void execFileSync("umount", [dirname(path)]) };
}

/** Takes every byte that is left. */
function fill(ballast: string): void {
  for (const bytes of [65_536, 4_096, 512, 1]) {
    try {
      for (;;) appendFileSync(ballast, new Uint8Array(bytes));
    } catch (error) {
      expect(error).toMatchObject({ code: "ENOSPC" });
    }
  }
}

/** Delivers until there is no room for one more; gives which were acknowledged and what the last was answered. */
async function deliverUntilFull(app: App, orders: readonly string[]) {
  const acknowledged: string[] = [];
  for (const order of orders) {
    const answer = await deliver(app, payment(`evt-${order}`, order));
    if (answer.status !== 200) return { acknowledged, refused: answer };
    acknowledged.push(order);
  }
  throw new Error("Cannot go on: the disk did not get full");
}

test("a full disk is answered 503, holds the worker back, and loses nothing once there is room", async ({ skip }) => {
  if (process.platform !== "linux" || getuid?.() !== 0) return skip("mounting a small disk takes root on Linux");
  await using stack = new AsyncDisposableStack();
  const { address: path } = stack.use(await temporaryDatabase());
  stack.use(smallDisk(path));
  const ballast = join(dirname(path), "ballast");
  const carrier = await startFakeProvider();
  const clock = new VirtualClock({ wallMs: Date.now() });
  const { app } = stack.use(await openApp(orderApp(path, { carrier: carrier.url, clock })));
  // Whatever becomes of the test: neither a call that is still out nor a full disk may hold up the stop.
  stack.defer(() => carrier.close());
  stack.defer(() => rmSync(ballast, { force: true }));
  const { reader } = app.runtime.store;
  const events: TelemetryEvent[] = [];
  app.subscribe((event) => void events.push(event));
  const heard = (kind: TelemetryEvent["kind"]): number => events.filter((event) => event.kind === kind).length;
  const isReady = (): Promise<boolean> => app.ready().catch(() => false);
  const orders = Array.from({ length: 8 }, (_, n) => `order-${n}`);
  await placeOrders(app, ...orders, "order-sent");

  carrier.failNext({ when: "after", kind: "hold" });
  await deliver(app, payment("evt-order-sent", "order-sent"));
  await app.start({ roles: ["worker"] });
  await eventually(() => carrier.held === 1);
  expect(await isReady()).toBe(true);
  fill(ballast);
  const { acknowledged, refused } = await deliverUntilFull(app, orders);
  expect(refused).toMatchObject({ status: 503, body: { error: "STORE_FULL" } });
  expect(Number(refused.retryAfter)).toBeGreaterThan(0);
  expect(await reader.counts()).toMatchObject({ receipts: { applied: acknowledged.length + 1 } });
  // A check of readiness is the smallest commit there is: the last ones may still fit.
  await eventually(async () => !(await isReady()));

  // The answer to the call that is out cannot be written down; nothing more is sent meanwhile, and each loop says it once.
  carrier.release();
  await eventually(() => carrier.counts().effects === 1);
  for (let seconds = 0; seconds < 120; seconds += 10) {
    clock.advance(10_000);
    expect(await isReady()).toBe(false);
  }
  await eventually(() => heard("loop.failed") > 0);
  expect(heard("loop.failed")).toBeLessThanOrEqual(3);
  expect(carrier.counts().requests).toBe(1);

  rmSync(ballast);
  await eventually(isReady);
  for (const order of orders) expect(await deliver(app, payment(`evt-${order}`, order))).toMatchObject({ status: 200 });
  const allDone = async (): Promise<boolean> => {
    clock.advance(200);
    return (await reader.counts()).obligations.done === orders.length + 1;
  };
  await eventually(allDone, { withinMs: 50_000 });
  expect(Object.values(carrier.counts().byRef).map(({ effects }) => effects)).toEqual(Array(orders.length + 1).fill(1));
  await eventually(() => {
    clock.advance(1_000);
    return heard("loop.recovered") === heard("loop.failed");
  });
});
