/**
 * Deliveries that share a commit do not share a lock: what somebody else holds keeps the one member waiting
 * that needs it, and nobody else.
 */
import { type App, connect, defineApp, type HandlerContext, type Limits, type TelemetryEvent } from "counterfoil";
import { expect, onTestFinished, test } from "vitest";
import { applyDue } from "../../src/inbox/apply-due.ts";
import { Inbox } from "../../src/inbox/inbox.ts";
import { headersFromFetch } from "../../src/verify/delivery-headers.ts";
import { caseSecret, sender, signedEvent } from "../support/case-delivery.ts";
import { storeAt } from "../support/engine.ts";
import { rows } from "../support/order-app.ts";
import { ownDatabase } from "../support/own-database.ts";
import { untilBlocked } from "../support/postgres-query.ts";
import { Stop } from "./stopped.ts";

type Handle = (context: HandlerContext) => Promise<unknown>;

interface Receiver {
  readonly app: App;
  readonly events: readonly TelemetryEvent[];
  /** Takes deliveries of one turn; settles when the connection's policy answers. */
  readonly deliver: (...ids: readonly string[]) => readonly Promise<string>[];
}

interface Receivers {
  readonly url: string;
  readonly first: Receiver;
  readonly second: Receiver;
  /** What the handler of an event does before it notes the event. */
  readonly handlers: Map<string, Handle>;
  readonly notes: () => Promise<readonly unknown[]>;
}

async function receivers(limits: Partial<Limits> = {}): Promise<Receivers> {
  const { address: url } = await ownDatabase();
  const handlers = new Map<string, Handle>();
  const handler = sender.on("changed", async (context) => {
    await handlers.get(context.event.id)?.(context);
    await context.tx.sql`INSERT INTO notes VALUES (${context.event.id})`;
  });
  const receiver = async (): Promise<Receiver> => {
    const events: TelemetryEvent[] = [];
    const app = defineApp({
      store: storeAt(url),
      connections: [
        connect("sender", {
          provider: sender,
          secrets: [caseSecret],
          tenant: "acme",
          handlers: [handler],
          order: ({ id }) => (id.startsWith("line") ? "line" : null),
        }),
      ],
      effects: [],
      // Nobody is refused because this machine is slow: what is tested is who waits for whom.
      limits: { lockMs: 60_000, queueMs: 60_000, groupMs: 60_000, handlerMs: 60_000, ...limits },
      telemetry: (event) => void events.push(event),
    });
    await app.open();
    onTestFinished(() => app.stop());
    const inbox = new Inbox(app, () => app.open());
    const connection = app.connections.get("sender")!;
    const deliver = (id: string): Promise<string> => {
      const { headers, body } = signedEvent(id);
      const delivery = { headers: headersFromFetch(new Headers(headers)), body, arrivedAtMs: 0 };
      return inbox.receive(connection, delivery).then(
        ({ outcome, duplicate }) => (duplicate ? `duplicate of ${outcome}` : outcome),
        (error: { readonly code: string }) => error.code,
      );
    };
    return { app, events, deliver: (...ids) => ids.map(deliver) };
  };
  const [first, second] = [await receiver(), await receiver()];
  await rows(first.app, "CREATE TABLE notes (id TEXT PRIMARY KEY)");
  await rows(first.app, "CREATE TABLE orders (id TEXT PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0)");
  await rows(first.app, "INSERT INTO orders VALUES ('order-1')");
  const notes = async () =>
    (await rows(first.app, "SELECT id FROM notes ORDER BY id")).map((row) => Object.values(row)[0]);
  return { url, first, second, handlers, notes };
}

const touch: Handle = ({ tx }) => tx.sql`UPDATE orders SET n = n + 1 WHERE id = 'order-1'`;
const work = (app: App) => (body: Parameters<App["transaction"]>[1]) =>
  app.transaction({ tenant: "acme", connection: "sender" }, body);

test("a row that stays locked keeps its own event waiting, and the others of the group are answered meanwhile", async () => {
  const { first, second, handlers, notes } = await receivers();
  const stop = new Stop();
  const holding = work(first.app)(async ({ tx }) => {
    await tx.sql`UPDATE orders SET n = n + 1 WHERE id = 'order-1'`;
    await stop.here();
  });
  await stop.reached;
  handlers.set("b", touch);
  const [a, b, c] = second.deliver("a", "b", "c");
  expect(await Promise.all([a, c])).toEqual(["applied", "applied"]);
  expect(await notes()).toEqual(["a", "c"]);
  // Groups go on beside the one that waits.
  expect(await Promise.all(second.deliver("d", "a"))).toEqual(["applied", "duplicate of applied"]);
  expect(second.events).toContainEqual({ kind: "group.split", members: 1, code: "STORE_BUSY" });
  stop.goOn();
  await holding;
  expect(await b).toBe("applied");
  expect(await notes()).toEqual(["a", "b", "c", "d"]);
  expect(await rows(first.app, "SELECT n FROM orders")).toEqual([{ n: 2 }]);
});

test("a line that stays locked keeps its own event waiting, which is applied behind the one that has it", async () => {
  const { first, second, handlers, notes } = await receivers();
  const stop = new Stop();
  handlers.set("line-1", () => stop.here());
  const [ahead] = first.deliver("line-1");
  await stop.reached;
  const [a, behind, c] = second.deliver("a", "line-2", "c");
  expect(await Promise.all([a, c])).toEqual(["applied", "applied"]);
  expect(await notes()).toEqual(["a", "c"]);
  stop.goOn();
  expect(await Promise.all([ahead, behind])).toEqual(["applied", "applied"]);
  expect(await notes()).toEqual(["a", "c", "line-1", "line-2"]);
});

test("a lock that stays longer than anybody waits is told to its own event only, which leaves nothing", async () => {
  const { first, second, handlers, notes } = await receivers({ lockMs: 700 });
  const stop = new Stop();
  const holding = work(first.app)(async ({ tx }) => {
    await tx.sql`UPDATE orders SET n = n + 1 WHERE id = 'order-1'`;
    await stop.here();
  });
  await stop.reached;
  handlers.set("b", touch);
  // One swallows its lock timeout, and one makes an error of its own of it: neither is held for that.
  handlers.set("c", (context) => touch(context).catch(() => undefined));
  handlers.set("d", (context) => touch(context).catch((cause: unknown) => Promise.reject(new Error("own", { cause }))));
  expect(await Promise.all(second.deliver("a", "b", "c", "d", "e"))).toEqual([
    "applied",
    ...Array<string>(3).fill("STORE_BUSY"),
    "applied",
  ]);
  stop.goOn();
  await holding;
  expect(await notes()).toEqual(["a", "e"]);
  expect(await Promise.all(second.deliver("b", "c", "d"))).toEqual(["applied", "applied", "applied"]);
});

test("a copy of an event that another process is applying waits for that, and the others of its group do not", async () => {
  const { url, first, second, handlers } = await receivers();
  const stop = new Stop();
  handlers.set("b", stop.here);
  const [applying] = first.deliver("b");
  await stop.reached;
  handlers.delete("b");
  const [a, b, again, c] = second.deliver("a", "b", "b", "c");
  expect(await Promise.all([a, c])).toEqual(["applied", "applied"]);
  await untilBlocked(url);
  stop.goOn();
  expect(await Promise.all([applying, b, again])).toEqual(["applied", "duplicate of applied", "duplicate of applied"]);
});

test("a redelivery that another transaction is counting waits for that, and the others of its group do not", async () => {
  const { first, second } = await receivers();
  expect(await Promise.all(first.deliver("b"))).toEqual(["applied"]);
  expect(await Promise.all(first.deliver("b"))).toEqual(["duplicate of applied"]);
  const stop = new Stop();
  const holding = work(first.app)(async ({ tx }) => {
    await tx.sql`SELECT times FROM counterfoil.redelivered FOR UPDATE`;
    await stop.here();
  });
  await stop.reached;
  const [a, b, c] = second.deliver("a", "b", "c");
  expect(await Promise.all([a, c])).toEqual(["applied", "applied"]);
  stop.goOn();
  await holding;
  expect(await b).toBe("duplicate of applied");
});

test("a name that another transaction has locked keeps the event waiting that waits for it, and nobody else", async () => {
  const { first, second, handlers } = await receivers();
  const stop = new Stop();
  const arriving = work(first.app)(async ({ arrived }) => {
    await arrived("order", "order-2");
    await stop.here();
  });
  await stop.reached;
  handlers.set("b", async ({ waitFor }) => waitFor("order", "order-2"));
  const [a, b, c] = second.deliver("a", "b", "c");
  expect(await Promise.all([a, c])).toEqual(["applied", "applied"]);
  stop.goOn();
  await arriving;
  expect(await b).toBe("parked");
});

test("one due event whose row stays locked keeps no other from being applied", async () => {
  const { first, second, handlers, notes } = await receivers({ lockMs: 500 });
  let isThere = false;
  const once =
    (then?: Handle): Handle =>
    async (context) =>
      isThere ? then?.(context) : context.waitFor("thing", "x");
  handlers.set("evt-1", once(touch));
  handlers.set("evt-2", once());
  expect(await Promise.all(first.deliver("evt-1", "evt-2"))).toEqual(["parked", "parked"]);
  isThere = true;
  await work(first.app)(({ arrived }) => arrived("thing", "x"));
  const stop = new Stop();
  const holding = work(second.app)(async ({ tx }) => {
    await tx.sql`UPDATE orders SET n = n + 1 WHERE id = 'order-1'`;
    await stop.here();
  });
  await stop.reached;
  await applyDue(first.app);
  expect(await notes()).toEqual(["evt-2"]);
  stop.goOn();
  await holding;
  await applyDue(first.app);
  expect(await notes()).toHaveLength(2);
});
