/** The lock of the file: taken at BEGIN, never kept over a call, and its lack told as 503. */
import { expect, test } from "vitest";
import { eventually } from "../../src/testing/eventually.ts";
import { startFakeProvider } from "../../src/testing/fake-provider.ts";
import { startProcess } from "../../src/testing/processes.ts";
import { engine } from "../support/engine.ts";
import { openApp, orderApp, payment, placeOrders, rows, temporaryDatabase } from "../support/order-app.ts";
import { deliver } from "./deliver.ts";

// Read, then write is what READ COMMITTED does not guard: a handler there writes under a predicate.
test.runIf(engine === "sqlite")(
  "two processes that read and then write, eight at a time each, never meet a busy database",
  async () => {
    await using stack = new AsyncDisposableStack();
    const { address } = stack.use(await temporaryDatabase());
    const { app } = stack.use(await openApp(orderApp(address)));
    await app.transaction({ tenant: "tenant-a" }, async ({ tx }) => {
      await tx.sql`CREATE TABLE tally (n INTEGER PRIMARY KEY, writer TEXT NOT NULL)`;
    });
    const file = new URL("./children/tally.ts", import.meta.url);
    const processes = [1, 2].map(() => stack.use(startProcess(file, { arguments: [address] })));
    expect(await Promise.all(processes.map((each) => each.ask("count", 25)))).toEqual([[], []]);
    expect(
      await rows(app, "SELECT count(*) AS n, max(n) AS last, count(DISTINCT writer) AS writers FROM tally"),
    ).toEqual([{ n: 400, last: 400, writers: 16 }]);
  },
);

test("a database that stays locked is answered 503 with Retry-After, and nothing is kept", async () => {
  await using stack = new AsyncDisposableStack();
  const database = stack.use(await temporaryDatabase());
  const { app } = stack.use(await openApp(orderApp(database.address, { limits: { lockMs: 50 } })));
  await placeOrders(app, "order-1");
  const lock = stack.use(await database.lock());
  const refused = await deliver(app, payment("evt-1"));
  expect(refused).toMatchObject({ status: 503, body: { error: "STORE_BUSY" } });
  expect(Number(refused.retryAfter)).toBeGreaterThan(0);
  expect(await app.ready().catch(() => false)).toBe(false);
  await lock[Symbol.asyncDispose]();
  expect(await app.runtime.store.reader.counts()).toMatchObject({ receipts: {}, deliveries: 0 });
  expect(await deliver(app, payment("evt-1"))).toMatchObject({ status: 200, body: { outcome: "applied" } });
  expect(await app.ready()).toBe(true);
});

test("no transaction is open while calls are out: others write, receive, and cut the log", async () => {
  await using stack = new AsyncDisposableStack();
  const database = stack.use(await temporaryDatabase());
  const carrier = stack.use(await startFakeProvider());
  const { app } = stack.use(await openApp(orderApp(database.address, { carrier: carrier.url })));
  const orders = Array.from({ length: 20 }, (_, n) => `order-${n}`);
  await placeOrders(app, ...orders);
  carrier.failWhen(() => ({ when: "before", kind: "hold" }));
  for (const order of orders.slice(0, 10)) await deliver(app, payment(`evt-${order}`, order));
  await app.start({ roles: ["worker"] });
  await eventually(() => carrier.held === 10);

  await database.run("UPDATE orders SET tracking = 'none' WHERE id = 'order-19'");
  // Between two looks for work at the latest.
  await eventually(() => database.isIdle());
  for (const order of orders.slice(10)) {
    expect(await deliver(app, payment(`evt-${order}`, order))).toMatchObject({ status: 200 });
  }
  expect(carrier.counts().effects).toBe(0);
  carrier.failWhen(() => undefined);
  carrier.release();
  await eventually(async () => (await app.runtime.store.reader.counts()).obligations.done === 20);
});
