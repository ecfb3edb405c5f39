/**
 * The same event ids, accounts, orders, operation keys, snapshots, resources and prerequisite names in four
 * tenants of one database, through every public call (what is public and not walked fails): each step is taken for one tenant after the other, comes to the
 * same for each, and leaves everything of the others as it was.
 */
import { DatabaseSync } from "node:sqlite";
import { type App, CounterfoilError, type Operator, type OwnTransaction } from "counterfoil";
import { fromPg } from "counterfoil/adapters";
import { startFakeProvider } from "counterfoil/testing";
import { Client } from "pg";
import { expect, onTestFinished, test } from "vitest";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { counterfoil } from "../cli/command.ts";
import { signedEvent } from "../support/case-delivery.ts";
import { engine } from "../support/engine.ts";
import { rows } from "../support/order-app.ts";
import { ownDatabase } from "../support/own-database.ts";
import { Walk } from "../support/walk.ts";
import { type Side, sides, stock, tenantsApp, works } from "./children/tenants.config.ts";
import { byFastify, byFetch, byLambda, byNode, byOwnServer } from "./tenant-mountings.ts";

/** What concerns the process, or the whole database of whoever runs it: no tenant is named, and none is given. */
const ofTheWhole = [
  ...["start", "stop", "live", "ready", "doctor", "subscribe"].map((name) => `app.${name}`),
  ...["subscribers", "runtime", "connections", "problems", "basePath"].map((name) => `app.${name}`),
  ...["status", "attention", "refusals", "prune", "pause", "resume", "restored"].map((name) => `operator.${name}`),
  // What a unit of work tells whoever runs it.
  "work.worst",
];

async function openMarket() {
  const database = await ownDatabase();
  const carrier = await startFakeProvider({ contract: "ignores" });
  // What is to be looked up took effect and its answer was lost; the rest was refused.
  carrier.failWhen(({ method, ref = "" }) => {
    if (method !== "POST") return undefined;
    return ref.endsWith("/lookup") ? { when: "after", kind: "reset" } : { when: "before", kind: "answer", status: 422 };
  });
  const walk = new Walk();
  const at = { address: database.address, carrier: carrier.url, clock: new VirtualClock(), walk };
  const { app, ship, parcels } = tenantsApp(at);
  const noted = walk.noting("app", app);
  await noted.open();
  onTestFinished(async () => {
    await app.stop();
    await carrier.close();
  });
  await rows(app, "CREATE TABLE orders (tenant TEXT, id TEXT, status TEXT, PRIMARY KEY (tenant, id))");
  const env = { TENANTS_DATABASE: database.address, TENANTS_CARRIER: carrier.url };
  return { app: noted, ship, parcels, env, walk, inOwn: inOwn(noted, at), ...views(app) };
}

/** Works inside a transaction that is begun with the engine's own driver. */
function inOwn(app: App, { address, walk }: { readonly address: string; readonly walk: Walk }) {
  const inside = (transaction: OwnTransaction) => walk.noting("within", app.within(transaction));
  return async <T>(work: (within: ReturnType<App["within"]>) => Promise<T>): Promise<T> => {
    if (engine === "sqlite") {
      using database = new DatabaseSync(address);
      database.exec("BEGIN IMMEDIATE");
      const value = await work(inside(database));
      database.exec("COMMIT");
      return value;
    }
    const client = new Client({ connectionString: address });
    await client.connect();
    try {
      await client.query("BEGIN");
      const value = await work(inside(fromPg(client)));
      await client.query("COMMIT");
      return value;
    } finally {
      await client.end();
    }
  };
}

function views(app: App) {
  const { reader } = app.runtime.store;
  const receiptsOf = async ({ connection, account }: Side) =>
    (await app.operator({ who: "viewer" }).receipts({ connection })).filter((receipt) => receipt.account === account);
  /** What there is of a tenant: each row that moves, and each event with what belongs to it. */
  const view = async (side: Side) => {
    const { connection, account, tenant } = side;
    const kept = (kind: string, id: string) => reader.snapshot({ connection, account, kind, id });
    const [receipts, obligations, snapshot, parcels, refreshes, orders] = await Promise.all([
      receiptsOf(side),
      reader.obligations({ tenant }, { limit: 100 }),
      kept("stock", "item-1"),
      kept("parcels", "parcel-1"),
      reader.refreshes({ connection }, { limit: 100 }),
      rows(app, `SELECT id, status FROM orders WHERE tenant = '${tenant}'`),
    ]);
    const asked = refreshes.filter((refresh) => refresh.account === account);
    return { receipts, obligations, snapshot, parcels, asked, orders };
  };
  const receiptId = async (side: Side, eventId: string): Promise<number> =>
    (await receiptsOf(side)).find((receipt) => receipt.eventId === eventId)!.id;
  return { view, receiptId };
}

type Market = Awaited<ReturnType<typeof openMarket>>;

/** A statement by the driver itself, which takes nobody's rows but this tenant's. */
async function byHand(native: unknown, { tenant }: Side): Promise<number> {
  const text = "UPDATE orders SET status = status WHERE tenant = ";
  if (engine === "sqlite") return Number((native as DatabaseSync).prepare(`${text}?`).run(tenant).changes);
  return (await (native as Client).query(`${text}$1`, [tenant])).rowCount ?? 0;
}

type Step = (side: Side, operator: Operator) => Promise<unknown>;

const signed = ({ account }: Side) => signedEvent("evt-1", {}, { type: "paid", ...(account && { account }) });

function steps({ app, ship, parcels, receiptId, inOwn, walk }: Market): Readonly<Record<string, Step>> {
  const receive = ({ connection, account }: Side, type: string, id: string, data: object = {}) =>
    app.receive(connection, signedEvent(id, data, { type, ...(account && { account }) }));
  const within = ({ tenant, connection, account }: Side, body: Parameters<App["transaction"]>[1]) =>
    app.transaction({ tenant, connection, account }, (context) =>
      body(walk.noting("work", { ...context, tx: walk.noting("tx", context.tx) })),
    );
  const over = (mounting: typeof byNode) => (side: Side) =>
    mounting({ app, connection: side.connection, delivery: signed(side) });
  const counting = (side: Side, revision: number, level: number) =>
    within(side, ({ snapshot }) => snapshot(stock, { id: "item-1", revision, state: { level } }));
  const owing = (side: Side, order: string) =>
    within(side, ({ owe }) => owe(ship, { key: ["own", "v1"], input: { order } }));
  const named = ({ tenant }: Side, work: string) => ({ tenant, operationKey: `order-1/${work}` });
  return {
    "an event waits": (side) => receive(side, "paid", "evt-1"),
    "it comes again": (side) => receive(side, "paid", "evt-1"),
    "it comes by fetch": over(byFetch),
    "it comes by node:http": over(byNode),
    "it comes by Fastify": over(byFastify),
    "it comes by the application's own server": over(byOwnServer),
    "it comes by Lambda": over(byLambda),
    "it comes as a trial": ({ connection, account }) =>
      app.receive(
        connection,
        app.trialDelivery(connection, {
          body: signedEvent("evt-1", {}, { type: "paid", ...(account && { account }) }).body,
        }),
      ),
    "it comes as a batch of one": ({ connection, ...side }) =>
      app.receiveBatch(connection, signed({ connection, ...side })),
    "it comes inside a transaction of the user's own": (side) =>
      inOwn(({ receive: inside }) => inside(side.connection, signed(side))),
    "it comes with other content": (side) => receive(side, "paid", "evt-1", { other: true }),
    "its mismatch is acknowledged": async (side, operator) =>
      operator.resolve({ receiptId: await receiptId(side, "evt-1"), choice: "acknowledge" }),
    "applied by hand it waits again": async (side, operator) =>
      operator.apply({ receiptId: await receiptId(side, "evt-1") }),
    "what it waits for arrives, and what it owes is sent": async (side) => {
      await within(side, async ({ tx, arrived }) => {
        await tx.sql`INSERT INTO orders (tenant, id, status) VALUES (${side.tenant}, 'order-1', 'new')`;
        await arrived("order", "order-1");
      });
      await app.drain();
    },
    "a snapshot is applied": (side) => receive(side, "counted", "evt-2", { level: 20 }),
    "its revision comes with other content": (side) => receive(side, "counted", "evt-3", { level: 21 }),
    "an older snapshot is stale": (side) => counting(side, 1, 10),
    "the conflict is taken": async (side, operator) =>
      operator.resolve({ receiptId: await receiptId(side, "evt-3"), choice: "take" }),
    "a newer snapshot is applied": (side) => counting(side, 3, 30),
    "an applied event is run again": async (side, operator) =>
      operator.reprocess({ receiptId: await receiptId(side, "evt-2") }),
    "an event is ignored": (side) => receive(side, "shrugged", "evt-4"),
    "an event is refused": (side) => receive(side, "forbidden", "evt-5"),
    "an event does all that a handler may": async (side) => {
      const received = await receive(side, "everything", "evt-6");
      await app.drain();
      return received;
    },
    "a resource is asked for, by the application and by hand": async (side, operator) => {
      const { connection, account } = side;
      await within(side, ({ refresh }) => refresh(parcels, { id: "parcel-1" }));
      const acted = await operator.refresh({ connection, account, kind: "parcels", id: "parcel-1" });
      await app.drain();
      return acted;
    },
    "the driver's own handle is used": (side) => within(side, ({ tx }) => byHand(tx.native, side)),
    "a key is owed": (side) => owing(side, "order-1"),
    "the key is owed again": (side) => owing(side, "order-1"),
    "the key is owed for something else": (side) => owing(side, "order-2"),
    "a key that nobody owes is withdrawn": (side) => within(side, ({ withdraw }) => withdraw(["never", "v1"])),
    "what was withdrawn is owed": (side) =>
      within(side, ({ owe }) => owe(ship, { key: ["never", "v1"], input: { order: "order-1" } })),
    "a key that is owed is withdrawn": async (side) => {
      await within(side, ({ owe }) => owe(ship, { key: ["taken back", "v1"], input: { order: "order-1" } }));
      return within(side, ({ withdraw }) => withdraw(["taken back", "v1"]));
    },
    retry: (side, operator) => operator.retry(named(side, "retry")),
    done: (side, operator) => operator.done({ ...named(side, "done"), evidence: "the carrier says so" }),
    cancel: (side, operator) => operator.cancel({ ...named(side, "cancel"), reason: "not wanted" }),
    "renew-key": (side, operator) => operator.renewKey({ ...named(side, "renew-key"), confirm: true }),
    amend: (side, operator) => operator.amend({ ...named(side, "renew-key"), json: { order: "order-9" } }),
    lookup: (side, operator) => operator.lookup(named(side, "lookup")),
    "what is stuck is retried in bulk": ({ tenant }, operator) =>
      operator.bulk({ action: "retry", where: { tenant, state: "stuck" } }),
    "what nobody fetches is not refreshed": ({ connection, account }, operator) =>
      operator.refresh({ connection, account, kind: "stock", id: "item-1" }),
    "work is done inside a transaction of the user's own": (side) =>
      inOwn(({ run }) => run(side, ({ owe }) => owe(ship, { key: ["own work"], input: { order: "order-1" } }))),
    "a key is taken back": (side) => within(side, ({ withdraw }) => withdraw(["own", "v1"])),
  };
}

function looks({ receiptId }: Market): Readonly<Record<string, Step>> {
  return {
    "obligations are shown": async ({ tenant }, operator) => {
      const shown = await Promise.all(works.map((work) => operator.obligation(tenant, `order-1/${work}`)));
      return shown.map(({ input, attempts, audit, next }) => [input, attempts.length, audit.length, next.text]);
    },
    "obligations are listed": async ({ tenant }, operator) =>
      (await operator.obligations({ tenant })).map(({ operationKey, state }) => [operationKey, state]),
    "an event is shown": async (side, operator) => {
      const { receipt, obligations } = await operator.receipt(await receiptId(side, "evt-1"));
      return [receipt.outcome, receipt.deliveries, obligations.map(({ operationKey }) => operationKey).toSorted()];
    },
    "events are listed": async ({ connection, account }, operator) =>
      (await operator.receipts({ connection, eventId: "evt-1" }))
        .filter((receipt) => receipt.account === account)
        .map(({ eventId, outcome }) => [eventId, outcome]),
    "refreshes are listed": async ({ connection, account }, operator) =>
      (await operator.refreshes({ connection }))
        .filter((refresh) => refresh.account === account)
        .map(({ kind, id }) => [kind, id]),
    "bytes are shown": async (side, operator) =>
      JSON.parse(Buffer.from((await operator.payload(await receiptId(side, "evt-2"))).bytes).toString()).data,
  };
}

/** What a step gave or threw, without what tells tenants and rows apart. */
async function outcomeOf(step: Promise<unknown>, { tenant }: Side): Promise<string> {
  const value = await step.catch((error: unknown) => {
    if (!(error instanceof CounterfoilError)) throw error;
    return [error.code, error.message];
  });
  return JSON.stringify(value ?? null).replaceAll(tenant, "TENANT");
}

test("what one tenant does comes to the same for each, and is neither seen nor changed by another", async () => {
  const market = await openMarket();
  const operator = market.walk.noting("operator", market.app.operator({ who: "ada" }));
  let before = await Promise.all(sides.map(market.view));
  for (const [name, step] of Object.entries(steps(market))) {
    const outcomes = new Set<string>();
    for (const [index, side] of sides.entries()) {
      outcomes.add(await outcomeOf(step(side, operator), side));
      const after = await Promise.all(sides.map(market.view));
      expect(after.toSpliced(index, 1), `${name} for ${side.tenant}`).toEqual(before.toSpliced(index, 1));
      before = after;
    }
    expect([...outcomes], name).toHaveLength(1);
  }
  for (const [name, step] of Object.entries(looks(market))) {
    const outcomes = await Promise.all(sides.map((side) => outcomeOf(step(side, operator), side)));
    expect(new Set(outcomes).size, `${name}: ${outcomes.join()}`).toBe(1);
  }
  // The steps did what they say, for each, and everything of a tenant is its own.
  for (const side of sides) {
    const { receipts, obligations, snapshot, parcels, orders } = await market.view(side);
    expect(receipts.map(({ eventId, tenant, outcome }) => [eventId, tenant, outcome])).toEqual([
      ["evt-6", side.tenant, "applied"],
      ["evt-5", side.tenant, "refused"],
      ["evt-4", side.tenant, "ignored"],
      ["evt-3", side.tenant, "applied"],
      ["evt-2", side.tenant, "applied"],
      ["evt-1", side.tenant, "applied"],
    ]);
    const states = obligations.map(({ operationKey, state }) => [operationKey.split("/").at(-1), state]);
    expect(Object.fromEntries(states)).toEqual({
      retry: "owed",
      done: "done",
      cancel: "cancelled",
      "renew-key": "owed",
      lookup: "uncertain",
      "own work": "owed",
      "of a handler": "withdrawn",
      v1: "withdrawn",
    });
    for (const obligation of obligations) expect(obligation).toMatchObject(side);
    expect(parcels).toMatchObject({ state: expect.stringContaining("count") });
    expect([snapshot?.revision, orders]).toEqual(["3", [{ id: "order-1", status: "paid" }]]);
  }
  expect(market.walk.left).toEqual(ofTheWhole.toSorted());
});

test(
  "the command line shows and changes what is named, and nothing of another tenant",
  { timeout: 240_000 },
  async () => {
    const market = await openMarket();
    const operator = market.app.operator({ who: "ada" });
    const all = Object.entries(steps(market));
    const paidSteps = all
      .slice(
        0,
        all.findIndex(([name]) => name === "a snapshot is applied"),
      )
      .map(([, step]) => step);
    for (const side of sides) {
      for (const step of paidSteps) await step(side, operator);
    }
    const [left, right] = sides as readonly [Side, Side, ...Side[]];
    const run = async (...args: readonly string[]) => {
      const config = new URL("children/tenants.config.ts", import.meta.url).pathname;
      const { code, json, stderr } = await counterfoil([...args, "--json", "--config", config], {
        env: { ...market.env, COUNTERFOIL_TEST_ENGINE: process.env["COUNTERFOIL_TEST_ENGINE"] ?? "" },
      });
      return { code, json, stderr };
    };
    const before = await market.view(right);
    const receipts = (await run("list", "receipts", "--connection", left.connection)).json;
    expect(receipts.map(({ eventId, tenant }) => [eventId, tenant])).toEqual([["evt-1", left.tenant]]);
    const obligations = (await run("list", "obligations", "--tenant", left.tenant)).json;
    expect(obligations.map(({ tenant }) => tenant)).toEqual(works.map(() => left.tenant));
    const [obligation] = (await run("show", left.tenant, "order-1/retry")).json;
    expect(obligation).toMatchObject({ obligation: { tenant: left.tenant, operationKey: "order-1/retry" } });
    expect(await run("cancel", left.tenant, "order-1/retry", "--reason", "not wanted")).toMatchObject({ code: 0 });
    expect(await market.view(right)).toEqual(before);
    expect((await market.app.operator({ who: "ada" }).obligation(left.tenant, "order-1/retry")).obligation.state).toBe(
      "cancelled",
    );
    expect(await run("show", "tenant-x", "order-1/retry")).toMatchObject({ code: 1 });
  },
);
