/** Connections that a function finds by their route: kept for a time, asked for once, never of another tenant. */
import { connect, connectEach, type ConnectOptions, type FindConnection } from "counterfoil";
import { signDelivery } from "counterfoil/providers";
import { beforeEach, expect, test } from "vitest";
import { eventually } from "../../src/testing/eventually.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { caseSecret, type CaseOptions, sender, signedEvent, startCase } from "../support/case-server.ts";

type Row = Pick<ConnectOptions<"sender">, "tenant" | "secrets" | "retention">;
let rows: Record<string, Row | (() => Promise<Row | null>)>;
let asked: string[];

beforeEach(() => {
  asked = [];
  isBroken = false;
  whenChanged = () => undefined;
  rows = {
    acme: { tenant: "acme", secrets: [caseSecret] },
    globex: { tenant: "globex", secrets: [caseSecret] },
  };
});

let isBroken: boolean;
let whenChanged: () => void;
const changed = sender.on("changed", () => {
  whenChanged();
  if (isBroken) throw new Error("broken for now");
});
const find: FindConnection<"sender"> = async ({ shop = "" }) => {
  asked.push(shop);
  const row = rows[shop];
  const found = typeof row === "function" ? await row() : row;
  return found ? { provider: sender, handlers: [changed], ...found } : null;
};

function start(options: CaseOptions = {}) {
  return startCase({
    connections: [
      connect("sender", { provider: sender, secrets: [caseSecret], tenant: "acme", handlers: [] }),
      connectEach("shops/:shop", find),
    ],
    ...options,
  });
}

const applied = (event: string) => ({ status: 200, outcome: "applied", event });

test("each has its own id and tenant, and the same event of two is two events", async () => {
  const server = await start();
  for (const shop of ["acme", "globex"]) {
    expect(await server.post(signedEvent("evt-1"), `shops/${shop}`)).toEqual(applied("evt-1"));
  }
  expect(await server.post(signedEvent("evt-1"), "shops/%61cme")).toMatchObject({ outcome: "duplicate" });
  const receipts = await server.app.runtime.store.reader.receipts({}, { limit: 9 });
  expect(receipts.map(({ connection, tenant }) => [connection, tenant])).toEqual([
    ["shops/globex", "globex"],
    ["shops/acme", "acme"],
  ]);
  expect(asked).toEqual(["acme", "globex"]);
  for (const path of ["shops/nobody", "shops", "shops/", "shops/acme/more", "shops/..", "shops/a%2Fb", "shops/%00"]) {
    expect(await server.post(signedEvent("evt-2"), path)).toEqual({ status: 404, error: "UNKNOWN_CONNECTION" });
  }
  expect(asked).toEqual(["acme", "globex", "nobody"]);
});

test("many deliveries at once ask once, and what was found or not is kept for its time", async () => {
  const clock = new VirtualClock({ wallMs: Date.now() });
  const server = await start({ clock });
  const { promise, resolve } = Promise.withResolvers<Row | null>();
  rows["late"] = () => promise;
  const posts = Array.from({ length: 20 }, (_, n) => server.post(signedEvent(`evt-${n}`), "shops/late"));
  await eventually(() => asked.length === 1);
  resolve({ tenant: "late", secrets: [caseSecret] });
  expect(new Set((await Promise.all(posts)).map(({ status }) => status))).toEqual(new Set([200]));
  expect(asked).toEqual(["late"]);
  const ask = async (shop: string) => (await server.post(signedEvent("evt-x"), `shops/${shop}`)).status;
  expect([await ask("new"), await ask("new")]).toEqual([404, 404]);
  rows["new"] = { tenant: "new", secrets: [caseSecret] };
  clock.advance(4_999);
  expect(await ask("new")).toBe(404);
  clock.advance(1);
  expect(await ask("new")).toBe(200);
  expect(asked).toEqual(["late", "new", "new"]);
});

test("a secret that was taken out counts no longer than what was found is kept", async () => {
  const clock = new VirtualClock({ wallMs: Date.now() });
  const server = await start({ clock });
  expect(await server.post(signedEvent("evt-1"), "shops/acme")).toEqual(applied("evt-1"));
  rows["acme"] = { tenant: "acme", secrets: ["another secret of the shop"] };
  clock.advance(59_999);
  expect(await server.post(signedEvent("evt-2"), "shops/acme")).toEqual(applied("evt-2"));
  clock.advance(1);
  expect(await server.post(signedEvent("evt-3"), "shops/acme")).toMatchObject({ status: 401 });
  const { headers, body } = signDelivery(sender.rules, "another secret of the shop", {
    body: signedEvent("evt-3").body,
    timestampMs: 0,
    headers: {},
  });
  expect(await server.post({ headers, body }, "shops/acme")).toEqual(applied("evt-3"));
});

test("a function that fails, hangs or gives what cannot work is 503, and nobody else's deliveries suffer", async () => {
  const clock = new VirtualClock({ wallMs: Date.now() });
  const server = await start({ clock });
  const unavailable = { status: 503, error: "CONNECTION_UNAVAILABLE" };
  rows["throws"] = () => Promise.reject(new Error("canary-of-the-function"));
  rows["blank"] = { tenant: "x", secrets: [undefined, "  "] };
  rows["invalid"] = { tenant: "", secrets: [caseSecret] };
  for (const shop of ["throws", "blank", "invalid"]) {
    expect(await server.post(signedEvent("evt-1"), `shops/${shop}`)).toEqual(unavailable);
  }
  rows["hangs"] = () => new Promise(() => undefined);
  const hanging = server.post(signedEvent("evt-1"), "shops/hangs");
  await eventually(() => asked.includes("hangs"));
  expect(await server.post(signedEvent("evt-1"), "shops/acme")).toEqual(applied("evt-1"));
  clock.advance(1_000);
  expect(await hanging).toEqual(unavailable);
  expect(await server.outcomes()).toEqual(["evt-1 applied"]);
  expect(JSON.stringify(server.events)).not.toContain("canary");
});

test("an id that comes back with another tenant is refused, in this process and in the next", async () => {
  const clock = new VirtualClock({ wallMs: Date.now() });
  const server = await start({ clock });
  expect(await server.post(signedEvent("evt-1"), "shops/acme")).toEqual(applied("evt-1"));
  rows["acme"] = { tenant: "somebody", secrets: [caseSecret] };
  clock.advance(60_000);
  expect(await server.post(signedEvent("evt-2"), "shops/acme")).toEqual({
    status: 503,
    error: "CONNECTION_UNAVAILABLE",
  });
  await expect(server.app.receive("shops/acme", signedEvent("evt-2"))).rejects.toThrow(/another tenant/);
  await server.app.stop();
  const next = await start({ database: server.database });
  await expect(next.app.receive("shops/acme", signedEvent("evt-2"))).rejects.toThrow(/another tenant/);
  rows["acme"] = { tenant: "acme", secrets: [caseSecret] };
  expect(await next.app.receive("shops/acme", signedEvent("evt-2"))).toMatchObject({ outcome: "applied" });
});

test("what is due is retried, and an operator acts, also where nothing was found yet", async () => {
  isBroken = true;
  const server = await start({ limits: { heldFirstMs: 1, heldMaxMs: 1 } });
  for (const event of ["evt-1", "evt-2"]) {
    expect(await server.post(signedEvent(event), "shops/acme")).toMatchObject({ status: 202, outcome: "held" });
  }
  await server.app.stop();
  isBroken = false;
  const next = await start({ database: server.database });
  const [held] = await next.app.runtime.store.reader.receipts({ eventId: "evt-2" }, { limit: 1 });
  await next.app.operator({ who: "ada" }).apply({ receiptId: held!.id });
  expect(await next.outcomes({ outcome: "held" })).toEqual(["evt-1 held"]);
  await next.app.drain({ budget: "10s" });
  expect(await next.outcomes()).toEqual(["evt-1 applied", "evt-2 applied"]);
});

test("what is due of many that are gone keeps no other's event waiting", async () => {
  isBroken = true;
  const limits = { heldFirstMs: 1, heldMaxMs: 1 };
  const server = await start({ limits });
  const gone = Array.from({ length: 33 }, (_, n) => `gone-${n}`);
  for (const shop of [...gone, "quiet"]) {
    rows[shop] = { tenant: shop, secrets: [caseSecret] };
    expect(await server.post(signedEvent(`evt-${shop}`), `shops/${shop}`)).toMatchObject({ outcome: "held" });
  }
  await server.app.stop();
  isBroken = false;
  for (const shop of gone) delete rows[shop];
  const next = await start({ database: server.database, limits });
  for (let n = 0; n < 2; n += 1) await next.app.drain({ budget: "10s" });
  expect(await next.outcomes({ connection: "shops/quiet" })).toEqual(["evt-quiet applied"]);
  expect(new Set(await next.outcomes({ outcome: "held" })).size).toBe(gone.length);
});

test("one that lapses while its event waits in a batch holds nothing", async () => {
  isBroken = true;
  const clock = new VirtualClock({ wallMs: Date.now() });
  const server = await start({ clock, limits: { connectionMs: 100 } });
  for (const event of ["evt-1", "evt-2"]) await server.post(signedEvent(event), "shops/acme");
  clock.advance(10_000);
  isBroken = false;
  whenChanged = () => clock.advance(100);
  await server.app.drain({ budget: "10s" });
  const receipts = await server.app.runtime.store.reader.receipts({}, { limit: 9 });
  expect(receipts.map(({ outcome, tries }) => [outcome, tries])).toEqual([
    ["applied", 1],
    ["applied", 1],
  ]);
});

test("an operator is told when it cannot be found now, and the event stays as it is", async () => {
  isBroken = true;
  const server = await start();
  await server.post(signedEvent("evt-1"), "shops/acme");
  await server.app.stop();
  isBroken = false;
  const row = rows["acme"]!;
  rows["acme"] = () => Promise.reject(new Error("the table of shops is locked"));
  const next = await start({ database: server.database });
  const operator = next.app.operator({ who: "ada" });
  const [held] = await operator.receipts();
  const unavailable = { code: "CONNECTION_UNAVAILABLE", message: expect.stringMatching(/shops\/acme/) as unknown };
  await expect(operator.apply({ receiptId: held!.id })).rejects.toMatchObject(unavailable);
  expect(await operator.receipts()).toEqual([held]);
  rows["acme"] = row;
  expect((await operator.apply({ receiptId: held!.id })).says).toBe("It is applied now");
});

test("an event that is kept has the retention of its connection, where nothing was found yet as well", async () => {
  isBroken = true;
  const server = await start();
  rows["acme"] = { tenant: "acme", secrets: [caseSecret], retention: { bytes: "0s" } };
  for (const event of ["evt-1", "evt-2"]) await server.post(signedEvent(event), "shops/acme");
  await server.app.stop();
  const next = await start({ database: server.database });
  const operator = next.app.operator({ who: "ada" });
  const [second, first] = await operator.receipts();
  await operator.resolve({ receiptId: first!.id, choice: "keep" });
  await expect(operator.payload(first!.id)).rejects.toMatchObject({ code: "BYTES_EXPIRED" });
  const last = await start({ database: server.database });
  rows["acme"] = () => Promise.reject(new Error("the table of shops is locked"));
  const other = last.app.operator({ who: "ada" });
  expect(await other.resolve({ receiptId: second!.id, choice: "keep" })).toMatchObject({ changed: true });
});

test("the application's own work is done under one as under a listed one", async () => {
  const server = await start();
  const own = await server.app.transaction({ tenant: "acme", connection: "shops/acme" }, () => "done");
  expect(own).toBe("done");
  await expect(server.app.transaction({ tenant: "globex", connection: "shops/acme" }, () => undefined)).rejects.toThrow(
    /not of the tenant/,
  );
  await expect(server.app.receive("shops/nobody", signedEvent("evt-1"))).rejects.toMatchObject({
    code: "UNKNOWN_CONNECTION",
  });
});

test.each(["shops", "shops/:shop/:shop", "/shops/:shop", "shops/:", "shops/:shop/", ":a b"])(
  "a route %j is refused",
  async (route) => {
    await expect(startCase({ connections: [connectEach(route, find)] })).rejects.toMatchObject({
      code: "CONFIG_INVALID",
    });
  },
);

test("the time that finding takes counts against what the sender waits for", async () => {
  const { ackMs } = sender.rules;
  const limits = { findMs: 1_000, queueMs: 500, groupMs: 100, lockMs: ackMs - 1_600 };
  const server = await start({ limits });
  await expect(server.app.receive("shops/acme", signedEvent("evt-1"))).rejects.toThrow(
    new RegExp(
      `waits ${ackMs} ms for an answer, which may take \\d+ ms \\(findMs 1000 \\+ queueMs 500 .*lower the limit`,
    ),
  );
  const quicker = await start({ limits: { ...limits, findMs: 100 } });
  expect(await quicker.post(signedEvent("evt-1"), "shops/acme")).toEqual(applied("evt-1"));
});

test("how many are kept, and asked for at once, is bounded", async () => {
  const clock = new VirtualClock({ wallMs: Date.now() });
  const server = await start({ clock, limits: { connectionsKept: 1, findsMax: 1 } });
  for (const shop of ["acme", "globex", "acme"]) await server.post(signedEvent("evt-1"), `shops/${shop}`);
  expect(asked).toEqual(["acme", "globex", "acme"]);
  const { promise, resolve } = Promise.withResolvers<Row | null>();
  rows["late"] = () => promise;
  const late = server.post(signedEvent("evt-2"), "shops/late");
  await eventually(() => asked.includes("late"));
  expect(await server.post(signedEvent("evt-2"), "shops/globex")).toEqual({ status: 503, error: "OVERLOADED" });
  resolve(null);
  expect(await late).toMatchObject({ status: 404 });
  // Who was refused is asked for like anybody as soon as there is room.
  expect(await server.post(signedEvent("evt-2"), "shops/globex")).toMatchObject({ status: 200 });
});
