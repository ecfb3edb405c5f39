/** What is stored is read again by the configuration of the day, and that may have changed, or throw. */
import { type App, connect, type ConnectOptions, defineApp } from "counterfoil";
import { generic, signDelivery } from "counterfoil/providers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { storeAt, temporaryDatabase } from "../support/engine.ts";

const secret = "a secret of these tests";
const sender = generic({
  name: "sender",
  signature: { kind: "hmac", header: "x-signature" },
  identity: {
    id: { from: "body", path: ["id"] },
    type: { from: "body", path: ["type"] },
    account: [{ from: "body", path: ["account"] }],
    mode: { path: ["live"], live: true, test: false },
  },
});

let stack: AsyncDisposableStack;
let address: string;
beforeEach(async () => {
  stack = new AsyncDisposableStack();
  ({ address } = stack.use(await temporaryDatabase()));
});
afterEach(() => stack.disposeAsync());

const waits = sender.on("thing", ({ waitFor }) => waitFor("nothing", "1"));
const applies = sender.on("thing", () => {});

async function configured(options: Partial<ConnectOptions<"sender">> = {}): Promise<App> {
  const app = defineApp({
    store: storeAt(address),
    connections: [
      connect("sender", { provider: sender, secrets: [secret], tenant: "acme", handlers: [applies], ...options }),
    ],
    effects: [],
    limits: { parkedRetryMs: 0 },
  });
  stack.defer(() => app.stop());
  await app.open();
  return app;
}

function receive(app: App, id: string, more: Readonly<Record<string, string | boolean>> = {}) {
  const body = Buffer.from(JSON.stringify({ id, type: "thing", ...more }));
  return app.receive("sender", signDelivery(sender.rules, secret, { body, timestampMs: 0 }));
}

async function outcomes(app: App): Promise<Readonly<Record<string, string>>> {
  const receipts = await app.operator({ who: "test" }).receipts({}, { limit: 100 });
  return Object.fromEntries(receipts.map(({ eventId, outcome }) => [eventId, outcome]));
}

describe("user code that throws while an event is read", () => {
  test.each<[string, Partial<ConnectOptions<"sender">>]>([
    [
      "the tenant function",
      {
        tenant: () => {
          throw new Error("canary");
        },
      },
    ],
    [
      "the order of release",
      {
        releaseBy: () => {
          throw new Error("canary");
        },
      },
    ],
  ])("%s quarantines the event with its bytes", async (_name, options) => {
    const app = await configured(options);
    const { outcome, reason } = await receive(app, "e1");
    expect(outcome).toBe("quarantined");
    expect(reason).not.toContain("canary");
    const [receipt] = await app.operator({ who: "test" }).receipts({}, { limit: 1 });
    const mended = await configured();
    await mended.operator({ who: "test" }).apply({ receiptId: receipt?.id ?? 0 });
    expect(await outcomes(mended)).toEqual({ e1: "applied" });
  });

  test("it stops no other event that is due", async () => {
    const before = await configured({ handlers: [waits] });
    await receive(before, "e1", { account: "throws" });
    await receive(before, "e2");
    const after = await configured({
      releaseBy: ({ account }) => {
        if (account === "throws") throw new Error("canary");
        return 1;
      },
    });
    await after.drain();
    expect(await outcomes(after)).toEqual({ e1: "quarantined", e2: "applied" });
  });
});

test("an event of another tenant than it was received for is not applied", async () => {
  const before = await configured({ handlers: [waits] });
  await receive(before, "e1");
  const after = await configured({ tenant: "globex" });
  await after.drain();
  expect(await outcomes(after)).toEqual({ e1: "quarantined" });
  expect(await after.operator({ who: "test" }).receipts({}, { limit: 1 })).toMatchObject([{ tenant: "acme" }]);
});

describe("what is final stays final", () => {
  test.each<[string, Partial<ConnectOptions<"sender">>]>([
    ["its handler is gone", { handlers: [] }],
    ["its handler wants to wait", { handlers: [waits] }],
    ["its tenant changed", { tenant: "globex" }],
  ])("also when %s", async (_name, options) => {
    const before = await configured();
    await receive(before, "e1");
    const [receipt] = await before.operator({ who: "test" }).receipts({}, { limit: 1 });
    const after = await configured(options);
    const reprocessing = after.operator({ who: "test" }).reprocess({ receiptId: receipt?.id ?? 0 });
    await expect(reprocessing).rejects.toMatchObject({ code: "NOT_ALLOWED" });
    expect(await after.operator({ who: "test" }).receipts({}, { limit: 1 })).toEqual([receipt]);
  });
});

test("an event that does not tell its mode is kept for the operator where the mode counts", async () => {
  const app = await configured({ mode: "live" });
  expect(await receive(app, "e1", { live: true })).toMatchObject({ outcome: "applied" });
  expect(await receive(app, "e2", { live: false })).toMatchObject({ outcome: "ignored", reason: "mode is test" });
  expect(await receive(app, "e3")).toMatchObject({ outcome: "quarantined" });
});

test("a handler's reason is bounded and never taken for the engine's own", async () => {
  const app = await configured({
    handlers: [
      sender.on("thing", ({ event, refuse, ignore }) =>
        event.id === "e1" ? ignore("unmapped") : refuse("x".repeat(9_999)),
      ),
    ],
  });
  expect(await receive(app, "e1")).toMatchObject({ outcome: "ignored", reason: "unmapped, says the handler" });
  expect((await receive(app, "e2")).reason).toHaveLength(512);
});

test("snapshots need the connection that they are kept for", async () => {
  const { resource, type } = await import("counterfoil");
  const thing = resource("thing", { state: type<{ a: number }>() });
  const app = await configured();
  const snapshot = (connection?: string) =>
    app.transaction({ tenant: "acme", ...(connection !== undefined && { connection }) }, (context) =>
      context.snapshot(thing, { id: "1", revision: 1, state: { a: 1 } }),
    );
  await expect(snapshot()).rejects.toThrow(/name it in app.transaction/);
  expect(await snapshot("sender")).toBe("applied");
});
