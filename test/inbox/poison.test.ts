/**
 * One statement of a handler can give the same error as a database that is ill: a table out of row ids
 * is "full", and a trigger may say anything. It concerns its own event; a transaction without that handler tells.
 */
import { type App, connect, defineApp, effect, type } from "counterfoil";
import { generic, signDelivery } from "counterfoil/providers";
import { startFakeProvider } from "counterfoil/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import { eventually } from "../../src/testing/eventually.ts";
import { dialect } from "../support/dialect.ts";
import { engine, storeAt, temporaryDatabase } from "../support/engine.ts";
import { rows } from "../support/order-app.ts";

const secret = "a secret of these tests";
const sender = generic({
  name: "sender",
  signature: { kind: "hmac", header: "x-signature" },
  identity: { id: { from: "body", path: ["id"] }, type: { from: "body", path: ["type"] } },
});

let stack: AsyncDisposableStack;
let app: App;

beforeEach(async () => {
  stack = new AsyncDisposableStack();
  const carrier = stack.use(await startFakeProvider());
  const ship = effect("ship/v1", {
    input: type<{ n: number }>(),
    request: ({ input, key }) => ({ method: "POST", url: `${carrier.url}/v1/shipments`, json: { ...input, ref: key } }),
    idempotency: { header: "Idempotency-Key", keyLifetime: "24h" },
    allow: [carrier.url],
    settled: ({ tx }) => tx.sql`INSERT INTO filled (note) VALUES ('hook')`,
  });
  const handlers = [
    sender.on("full", async ({ tx }) => void (await tx.sql`INSERT INTO filled (note) VALUES ('handler')`)),
    sender.on("well", async ({ tx, event }) => void (await tx.sql`INSERT INTO notes VALUES (${event.id})`)),
    sender.on("waits", async ({ tx, waitFor }) => {
      const [there] = await tx.sql`SELECT 1 FROM notes WHERE id = 'ready'`;
      if (there === undefined) return waitFor("note", "ready");
      await tx.sql`INSERT INTO filled (note) VALUES ('late')`;
    }),
    sender.on("ships", ({ owe, event }) => owe(ship, { key: [event.id], input: { n: 1 } })),
  ];
  app = defineApp({
    store: storeAt(stack.use(await temporaryDatabase()).address),
    connections: [connect("sender", { provider: sender, secrets: [secret], tenant: "acme", handlers })],
    effects: [ship],
    limits: { hookTriesMax: 2, retryFirstMs: 10, pollMs: 20, queueMs: 5_000 },
  });
  stack.defer(() => app.stop());
  await app.transaction({ tenant: "acme" }, async ({ tx }) => {
    await tx.sql`CREATE TABLE notes (id TEXT PRIMARY KEY)`;
  });
  for (const statement of dialect.full("filled")) await rows(app, statement);
});
afterEach(() => stack.disposeAsync());

async function deliver(...events: readonly (readonly [id: string, type: string])[]): Promise<void> {
  const request = ([id, type]: readonly [string, string]): Request => {
    const { headers, body } = signDelivery(sender.rules, secret, {
      body: Buffer.from(JSON.stringify({ id, type })),
      timestampMs: 0,
    });
    return new Request("http://shop.example/hooks/sender", { method: "POST", headers, body: Buffer.from(body) });
  };
  await Promise.all(events.map((event) => app.fetch(request(event))));
}

async function outcomes(): Promise<Readonly<Record<string, string>>> {
  const receipts = await app.operator({ who: "test" }).receipts({}, { limit: 100 });
  return Object.fromEntries(receipts.map(({ eventId, outcome }) => [eventId, outcome]));
}

test("a handler whose statement is full is held, and its neighbours are applied", async () => {
  await deliver(["a", "well"], ["b", "full"], ["c", "well"]);
  expect(await outcomes()).toEqual({ a: "applied", b: "held", c: "applied" });
});

test("an event that is due is held alone, and those behind it are applied", async () => {
  await deliver(["a", "waits"], ["b", "waits"], ["ready", "well"]);
  await app.transaction({ tenant: "acme" }, ({ arrived }) => arrived("note", "ready"));
  await app.drain();
  expect(await outcomes()).toEqual({ a: "held", b: "held", ready: "applied" });
});

test("a settled hook whose statement is full spends its tries and becomes the operator's", async () => {
  await deliver(["a", "ships"]);
  await app.start({ roles: ["worker"] });
  await eventually(async () => (await app.operator({ who: "test" }).attention()).length === 1);
  expect(await app.operator({ who: "test" }).attention()).toMatchObject([
    { kind: "obligation", obligation: { state: "settling", tries: 2, dueAt: null } },
  ]);
});

test.runIf(engine === "sqlite")(
  "a function of the handler's own that runs statements does not lift the guard against COMMIT",
  async () => {
    const sly = sender.on("sly", ({ tx }) => {
      const native = tx.native as { exec(sql: string): void; function(name: string, run: () => number): void };
      native.function("sly", () => {
        native.exec("SELECT 1");
        return 1;
      });
      native.exec("INSERT INTO notes VALUES ('half'); SELECT sly(); COMMIT; BEGIN IMMEDIATE; SAVEPOINT counterfoil_1;");
    });
    const other = defineApp({
      store: storeAt(stack.use(await temporaryDatabase()).address),
      connections: [connect("sender", { provider: sender, secrets: [secret], tenant: "acme", handlers: [sly] })],
      effects: [],
    });
    stack.defer(() => other.stop());
    await other.transaction({ tenant: "acme" }, ({ tx }) => tx.sql`CREATE TABLE notes (id TEXT PRIMARY KEY)`);
    const delivery = signDelivery(sender.rules, secret, {
      body: Buffer.from('{"id":"a","type":"sly"}'),
      timestampMs: 0,
    });
    await expect(other.receive("sender", delivery)).rejects.toMatchObject({
      code: expect.stringMatching(/^(TRANSACTION|HANDLER)_/),
    });
    const notes = await other.transaction({ tenant: "acme" }, ({ tx }) => tx.sql`SELECT * FROM notes`);
    expect(notes).toHaveLength(0);
  },
);
