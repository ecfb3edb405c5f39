/**
 * READ COMMITTED is enough: wherever two transactions of the product meet, one of them waits for what the
 * other holds, or is turned away by what it committed. Each test stops a transaction at a step, and lets it
 * go on once the server shows that the other waits.
 */
import { type App, connect, defineApp, effect, type HandlerContext, type Received, resource, type } from "counterfoil";
import { expect, onTestFinished, test } from "vitest";
import { caseSecret, sender, signedEvent } from "../support/case-delivery.ts";
import { storeAt } from "../support/engine.ts";
import { rows } from "../support/order-app.ts";
import { ownDatabase } from "../support/own-database.ts";
import { terminateBackends, untilBlocked } from "../support/postgres-query.ts";
import { Stop } from "./stopped.ts";

type Handle = (context: HandlerContext) => Promise<unknown>;

const ship = effect("ship/v1", {
  input: type<{ order: string }>(),
  request: ({ input }) => ({ method: "POST", url: "https://carrier.example/v1/shipments", json: input }),
  idempotency: "none",
});
const stock = resource("stock", { state: type<{ level: number }>() });

interface Two {
  readonly url: string;
  /** Two processes' worth of application over one database. */
  readonly first: App;
  readonly second: App;
  /** What the handler of an event does, by the event's id. */
  readonly handlers: Map<string, Handle>;
}

async function two(limits: { readonly lockMs?: number } = {}): Promise<Two> {
  const { address: url } = await ownDatabase();
  const handlers = new Map<string, Handle>();
  const changed = sender.on("changed", async (context) => {
    await handlers.get(context.event.id)?.(context);
  });
  const open = async (): Promise<App> => {
    const app = defineApp({
      store: storeAt(url),
      connections: [
        connect("sender", { provider: sender, secrets: [caseSecret], tenant: "acme", handlers: [changed] }),
      ],
      effects: [ship],
      limits: { lockMs: 30_000, queueMs: 30_000, handlerMs: 60_000, ...limits },
    });
    await app.open();
    onTestFinished(() => app.stop());
    return app;
  };
  const [first, second] = [await open(), await open()];
  await rows(first, "CREATE TABLE orders (id TEXT PRIMARY KEY, status TEXT NOT NULL, n INTEGER NOT NULL DEFAULT 0)");
  return { url, first, second, handlers };
}

const receive = (app: App, id: string, data: object = {}): Promise<Received> =>
  app.receive("sender", signedEvent(id, data));
const work = (app: App) => (body: Parameters<App["transaction"]>[1]) =>
  app.transaction({ tenant: "acme", connection: "sender" }, body);
const owed = (app: App) => app.operator({ who: "test" }).obligations();

test("the second of two copies waits for the first, is its duplicate, and runs no handler", async () => {
  const { url, first, second, handlers } = await two();
  const stop = new Stop();
  let runs = 0;
  handlers.set("evt-1", async () => {
    runs += 1;
    await stop.here();
  });
  const [one] = [receive(first, "evt-1"), await stop.reached];
  const copy = receive(second, "evt-1");
  await untilBlocked(url);
  stop.goOn();
  expect(await one).toMatchObject({ outcome: "applied", duplicate: false });
  expect(await copy).toMatchObject({ outcome: "applied", duplicate: true });
  expect(runs).toBe(1);
});

test("a copy that waited for a first that was undone is the first itself", async () => {
  const { url, first, second, handlers } = await two();
  const stop = new Stop();
  let runs = 0;
  handlers.set("evt-1", async ({ tx }) => {
    runs += 1;
    await tx.sql`INSERT INTO orders (id, status) VALUES (${`order-${runs}`}, 'new')`;
    if (runs === 1) await stop.here();
  });
  const failing = expect(receive(first, "evt-1")).rejects.toMatchObject({ code: "HANDLER_FAILED" });
  await stop.reached;
  const copy = receive(second, "evt-1");
  await untilBlocked(url);
  stop.rollBack();
  await failing;
  expect(await copy).toMatchObject({ outcome: "applied", duplicate: false });
  expect(await rows(first, "SELECT id FROM orders")).toEqual([{ id: "order-2" }]);
});

test("a copy that waited too long is told that the store is busy, and leaves nothing", async () => {
  const { first, second, handlers } = await two({ lockMs: 300 });
  const stop = new Stop();
  handlers.set("evt-1", stop.here);
  const [one] = [receive(first, "evt-1"), await stop.reached];
  await expect(receive(second, "evt-1")).rejects.toMatchObject({ code: "STORE_BUSY" });
  stop.goOn();
  expect(await one).toMatchObject({ outcome: "applied" });
  expect(await receive(second, "evt-1")).toMatchObject({ outcome: "applied", duplicate: true });
});

const waiting: Handle = async ({ tx, waitFor }) => {
  const { changes } = await tx.sql`UPDATE orders SET status = 'paid' WHERE id = 'order-1'`;
  if (changes === 0) waitFor("order", "order-1");
};

test("an event that finds nothing while its parent is being written waits for that, and looks once more", async () => {
  const { url, first, second, handlers } = await two();
  handlers.set("child", waiting);
  const stop = new Stop();
  const parent = work(first)(async ({ tx, arrived }) => {
    await tx.sql`INSERT INTO orders (id, status) VALUES ('order-1', 'new')`;
    await arrived("order", "order-1");
    await stop.here();
  });
  await stop.reached;
  const child = receive(second, "child");
  expect(await untilBlocked(url)).toEqual([expect.stringContaining("pg_advisory_xact_lock")]);
  stop.goOn();
  await parent;
  expect(await child).toMatchObject({ outcome: "applied" });
  expect(await rows(first, "SELECT status FROM orders")).toEqual([{ status: "paid" }]);
});

test("a parent that is written while an event parks waits for that, and finds it", async () => {
  const { url, first, second, handlers } = await two();
  const stop = new Stop();
  let looks = 0;
  handlers.set("child", async (context) => {
    looks += 1;
    await waiting(context);
    // It looked under the lock, found nothing, and is about to park.
    if (looks === 2) await stop.here();
  });
  const [child] = [receive(first, "child"), await stop.reached];
  const parent = work(second)(async ({ tx, arrived }) => {
    await tx.sql`INSERT INTO orders (id, status) VALUES ('order-1', 'new')`;
    await arrived("order", "order-1");
  });
  expect(await untilBlocked(url)).toEqual([expect.stringContaining("pg_advisory_xact_lock")]);
  stop.goOn();
  expect(await child).toMatchObject({ outcome: "parked" });
  await parent;
  await second.drain();
  expect(await receive(first, "child")).toMatchObject({ outcome: "applied", duplicate: true });
  expect(await rows(first, "SELECT status FROM orders")).toEqual([{ status: "paid" }]);
});

/** A group of two: the first event has done its work, and the second keeps their commit waiting. */
async function pending(app: App, handlers: Map<string, Handle>, handle: Handle) {
  const stop = new Stop();
  handlers.set("evt-1", handle).set("evt-2", stop.here);
  const group = Promise.allSettled([receive(app, "evt-1"), receive(app, "evt-2")]);
  await stop.reached;
  return { stop, group };
}

const owing =
  (order: string): Handle =>
  async ({ owe }) =>
    owe(ship, { key: ["fulfil", "v1"], input: { order } });

/** An event by itself that has owed, as what it takes back stands behind what it owes, and keeps its commit waiting. */
async function pendingOwe(app: App, handlers: Map<string, Handle>, order: string) {
  const stop = new Stop();
  handlers.set("evt-1", async (context) => {
    await owing(order)(context);
    await context.withdraw(["another"]);
    await stop.here();
  });
  const group = Promise.allSettled([receive(app, "evt-1")]);
  await stop.reached;
  return { stop, group };
}

test.each([
  ["the same input meets what the first owed", "order-1", "applied"],
  ["other input is a conflict that undoes it", "order-2", "conflict"],
])("of two events that owe one key at once the second waits: %s", async (_, order, outcome) => {
  const { url, first, second, handlers } = await two();
  const { stop, group } = await pendingOwe(first, handlers, "order-1");
  handlers.set("evt-3", owing(order));
  const other = receive(second, "evt-3");
  await untilBlocked(url);
  stop.goOn();
  await group;
  expect(await other).toMatchObject({ outcome });
  const [obligation, ...more] = (await owed(first)).filter(({ operationKey }) => operationKey !== "another");
  expect(more).toEqual([]);
  expect((await first.operator({ who: "test" }).obligation("acme", obligation!.operationKey)).input).toBe(
    '{"order":"order-1"}',
  );
});

test("who waits for a key that is owed in vain owes it itself", async () => {
  const { url, first, second, handlers } = await two();
  const { stop, group } = await pendingOwe(first, handlers, "order-1");
  handlers.set("evt-3", owing("order-2"));
  const other = receive(second, "evt-3");
  await untilBlocked(url);
  await terminateBackends(url, "state LIKE 'idle in transaction%'");
  expect(await other).toMatchObject({ outcome: "applied" });
  expect(await owed(second)).toMatchObject([{ operationKey: "fulfil/v1" }]);
  stop.goOn();
  expect(await group).toMatchObject([{ status: "rejected" }]);
});

const counting =
  (revision: number, level: number): Handle =>
  ({ snapshot }) =>
    snapshot(stock, { id: "item-1", revision, state: { level } });

test.each([
  ["an older one is stale", counting(2, 20), counting(1, 10), "stale", "2"],
  ["a newer one replaces it", counting(1, 10), counting(2, 20), "applied", "2"],
  ["another content of the same revision is a conflict", counting(2, 20), counting(2, 21), "conflict", "2"],
  ["the same content is nothing new", counting(2, 20), counting(2, 20), "applied", "2"],
])("of two snapshots at once the second waits for the first: %s", async (_, one, other, outcome, revision) => {
  const { url, first, second, handlers } = await two();
  const { stop, group } = await pending(first, handlers, one);
  handlers.set("evt-3", other);
  const later = receive(second, "evt-3");
  await untilBlocked(url);
  stop.goOn();
  await group;
  expect(await later).toMatchObject({ outcome });
  const key = { connection: "sender", account: "", kind: "stock", id: "item-1" };
  expect(await first.runtime.store.reader.snapshot(key)).toMatchObject({ revision });
});

test("of two that make one guarded move at once the second waits, and is turned away by what it finds then", async () => {
  const { url, first, second, handlers } = await two();
  await rows(first, "INSERT INTO orders (id, status) VALUES ('order-1', 'new')");
  const pay: Handle = async ({ tx, owe, refuse }) => {
    const { changes } = await tx.sql`UPDATE orders SET status = 'paid' WHERE id = 'order-1' AND status = 'new'`;
    if (changes === 0) return refuse("it is paid already");
    await owe(ship, { key: ["fulfil", "v1"], input: { order: "order-1" } });
  };
  const { stop, group } = await pending(first, handlers, pay);
  handlers.set("evt-3", pay);
  const other = receive(second, "evt-3");
  await untilBlocked(url);
  stop.goOn();
  await group;
  expect(await other).toMatchObject({ outcome: "refused" });
  expect(await owed(first)).toHaveLength(1);
});

test("of two groups whose handlers cross, one loses the deadlock and runs again: all is applied, once", async () => {
  const { first, second, handlers } = await two();
  await rows(first, "INSERT INTO orders (id, status) VALUES ('order-1', 'new'), ('order-2', 'new')");
  const both = [new Stop(), new Stop()] as const;
  const runs = new Map<string, number>();
  const adding =
    (order: string, stop?: Stop): Handle =>
    async ({ event, tx }) => {
      runs.set(event.id, (runs.get(event.id) ?? 0) + 1);
      await tx.sql`UPDATE orders SET n = n + 1 WHERE id = ${order}`;
      // Each group has one row when it goes on to the other's.
      await stop?.here();
    };
  handlers.set("a-1", adding("order-1", both[0])).set("a-2", adding("order-2"));
  handlers.set("b-1", adding("order-2", both[1])).set("b-2", adding("order-1"));
  const groups = [receive(first, "a-1"), receive(first, "a-2"), receive(second, "b-1"), receive(second, "b-2")];
  await Promise.all(both.map(({ reached }) => reached));
  for (const stop of both) stop.goOn();
  expect((await Promise.all(groups)).map(({ outcome }) => outcome)).toEqual(Array(4).fill("applied"));
  expect(await rows(first, "SELECT n FROM orders ORDER BY id")).toEqual([{ n: 2 }, { n: 2 }]);
  // Four runs, and the loser's once more.
  expect([...runs.values()].reduce((sum, count) => sum + count)).toBeGreaterThan(4);
});
