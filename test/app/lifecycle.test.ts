/** An application from start to stop, and from stop to start. */
import { execFile } from "node:child_process";
import { setImmediate } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { App } from "counterfoil";
import { expect, test, vi } from "vitest";
import { eventually } from "../../src/testing/eventually.ts";
import { startFakeProvider } from "../../src/testing/fake-provider.ts";
import { rawExchange } from "../../src/testing/raw-http.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { startHooks } from "../support/hooks-server.ts";
import { openApp, orderApp, payment, placeOrders, temporaryDatabase } from "../support/order-app.ts";

async function fetched(app: App, eventId: string): Promise<string> {
  const { headers, body } = payment(eventId);
  const request = new Request("http://localhost/hooks/stripe", { method: "POST", headers, body: Buffer.from(body) });
  const answer = await app.fetch(request);
  return `${answer.status} ${await answer.text()}`;
}

const refused = '503 {"error":"STORE_UNAVAILABLE"}';

test("a stop answers 503 to what mounted hooks still get, ends what was taken, and ends although more comes", async () => {
  await using stack = new AsyncDisposableStack();
  const database = stack.use(await temporaryDatabase());
  const { app } = stack.use(
    await openApp(orderApp(database.address, { limits: { lockMs: 600_000, queueMs: 600_000 } })),
  );
  await placeOrders(app, "order-1");
  const lock = stack.use(await database.lock());
  let taken = "";
  void fetched(app, "evt-1").then((answer) => (taken = answer));
  const state = { stopped: false };
  const stopping = app.stop().then(() => (state.stopped = true));
  await eventually(async () => (await fetched(app, "evt-2")) === refused);
  await expect(app.receive("stripe", payment("evt-3"))).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  expect([taken, state.stopped]).toEqual(["", false]);
  await lock[Symbol.asyncDispose]();
  while (!state.stopped) {
    expect(await fetched(app, "evt-4")).toBe(refused);
    await setImmediate();
  }
  await stopping;
  expect(taken).toBe('200 {"outcome":"applied","event":"evt-1"}');
  expect(await fetched(app, "evt-5")).toBe(refused);
});

test("a delivery that does not end holds a stop up no longer than the grace", async () => {
  const clock = new VirtualClock({ wallMs: Date.now() });
  await using stack = new AsyncDisposableStack();
  const { address } = stack.use(await temporaryDatabase());
  const { app } = stack.use(await openApp(orderApp(address, { clock, limits: { graceMs: 5_000 } })));
  const stuck = new Request("http://localhost/hooks/stripe", {
    method: "POST",
    headers: payment("evt-1").headers,
    body: new ReadableStream(),
    duplex: "half",
  });
  const answering = app.fetch(stuck);
  await eventually(() => clock.pendingTimers === 1);
  const stopping = app.stop();
  await eventually(() => clock.pendingTimers === 2);
  clock.advance(5_000);
  await stopping;
  clock.advance(5_000);
  expect((await answering).status).toBe(400);
});

test("what was stopped uses nothing until it is started again, and then all of it works as before", async () => {
  await using stack = new AsyncDisposableStack();
  const { address } = stack.use(await temporaryDatabase());
  const carrier = await startFakeProvider();
  stack.defer(() => carrier.close());
  const { app } = stack.use(await openApp(orderApp(address, { carrier: carrier.url })));
  await placeOrders(app, "order-1", "order-2", "order-3");
  for (const round of [1, 2, 3]) {
    // The second time around several start it, the first of them while it still stops.
    await Promise.all([app.start(), app.open(), app.open()]);
    const { port } = await app.listen({ port: 0 });
    const { headers, body } = payment(`evt-${round}`, `order-${round}`);
    const sent = { path: "/hooks/stripe", headers: Object.entries(headers), body };
    expect(await rawExchange(port, sent)).toMatchObject({ status: 200 });
    expect([app.live(), await app.ready()]).toEqual([true, true]);
    await eventually(() => carrier.counts().effects === round);
    await Promise.all([app.stop(), app.stop()]);
    expect(await app.ready()).toBe(false);
    await expect(placeOrders(app, "order-9")).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    await expect(app.drain()).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    if (round === 2) {
      await app.open();
      void app.stop();
    }
  }
});

test("a stop that failed keeps nothing out once the application is started again", async () => {
  await using stack = new AsyncDisposableStack();
  const { address } = stack.use(await temporaryDatabase());
  const { app } = stack.use(await openApp(orderApp(address)));
  await placeOrders(app, "order-1");
  const { store } = app.runtime;
  const close = vi.spyOn(store, "close").mockRejectedValueOnce(new Error("the disk is gone"));
  await expect(app.stop()).rejects.toThrow("the disk is gone");
  close.mockRestore();
  await app.start({ roles: ["receiver"] });
  expect(await fetched(app, "evt-1")).toMatch(/^200/);
});

test("a worker that was started holds its process until it is stopped", async () => {
  await using database = await temporaryDatabase();
  const script = fileURLToPath(new URL("children/worker-alone.ts", import.meta.url));
  const run = promisify(execFile)(process.execPath, ["--conditions=counterfoil-source", script, database.address], {
    cwd: database.folder,
    timeout: 60_000,
  });
  expect(JSON.parse((await run).stdout)).toEqual({ before: false, during: true });
}, 90_000);

test("health on a port of its own is told there and nowhere else, and hooks are taken only beside it", async () => {
  await using hooks = await startHooks();
  const { app } = hooks;
  const [inside, outside] = [
    await app.listen({ port: 0, serves: "health" }),
    await app.listen({ port: 0, serves: "hooks" }),
  ];
  const status = async (port: number, path: string, method = "GET") =>
    (await rawExchange(port, { method, path })).status;
  for (const path of ["/health/live", "/health/ready"]) {
    expect([await status(inside.port, path), await status(outside.port, path)]).toEqual([200, 404]);
  }
  expect(await status(inside.port, "/hooks/stripe", "POST")).toBe(404);
  expect(await status(outside.port, "/hooks/stripe", "POST")).toBe(401);
});

test("health checks share one proof for a second, which a stop and a second end", async () => {
  const clock = new VirtualClock({ wallMs: Date.now() });
  await using hooks = await startHooks({ clock, limits: { lockMs: 50 } });
  const ready = async () => (await rawExchange(hooks.port, { method: "GET", path: "/health/ready" })).status;
  expect(await ready()).toBe(200);
  const lock = await hooks.database.lock();
  clock.advance(999);
  expect(await ready()).toBe(200);
  clock.advance(1);
  expect(await ready()).toBe(503);
  await lock[Symbol.asyncDispose]();
  // Trouble is not kept.
  expect(await ready()).toBe(200);
  const stopping = hooks.app.stop({ lameDuck: "5s" });
  expect(await ready()).toBe(503);
  clock.advance(5_000);
  await stopping;
});
