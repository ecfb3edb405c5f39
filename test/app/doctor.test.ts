/** A look at a whole installation: each thing that is wrong is found, with what mends it. */
import { type App, connect, defineApp, effect, type Finding, jsonLogger, resource, type } from "counterfoil";
import { stripe } from "counterfoil/providers";
import { expect, onTestFinished, test } from "vitest";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { engine, storeAt, type TemporaryDatabase, temporaryDatabase } from "../support/engine.ts";
import { orderApp, secret } from "../support/order-app.ts";
import { replacing } from "../support/wrapped-store.ts";

async function database(): Promise<TemporaryDatabase> {
  const made = await temporaryDatabase();
  onTestFinished(() => made[Symbol.asyncDispose]());
  return made;
}

async function examined(app: App): Promise<readonly Finding[]> {
  onTestFinished(() => app.stop());
  // A look creates no database.
  await app.open().catch(() => undefined);
  return app.doctor();
}

function of(findings: readonly Finding[], subject: string): readonly Finding[] {
  return findings.filter((finding) => finding.subject === subject);
}

test("an installation that is well has no finding that is not, and each is told what it stands on", async () => {
  const { address } = await database();
  const app = orderApp(address);
  app.subscribe(jsonLogger({ level: "silent" }));
  const findings = await examined(app);
  const unwell = findings.filter(
    ({ level, subject }) => level !== "ok" && subject !== "durability" && subject !== "disk",
  );
  expect(unwell.filter(({ subject }) => subject !== "checksums")).toEqual([]);
  const subjects = ["configuration", "secrets", "ack budget", "limits", "database", "commit", "clock", "workers"];
  for (const subject of subjects) expect(of(findings, subject), subject).not.toEqual([]);
  expect(JSON.stringify(findings)).not.toContain(secret);
});

test("a refresh whose kind nobody registers any more is found, and needs a person once it is due for an hour", async () => {
  const { address } = await database();
  const clock = new VirtualClock({ wallMs: Date.now() });
  const customer = resource("customer", {
    state: type<{ email: string }>(),
    fetch: { get: () => "https://shop.example/c", found: () => undefined },
  });
  const before = defineApp({
    store: storeAt(address, { clock }),
    connections: [connect("shop", { provider: stripe, secrets: [secret], tenant: "acme", handlers: [] })],
    effects: [],
    resources: [customer],
    migrate: true,
    testing: { clock },
  });
  await before.transaction({ tenant: "acme", connection: "shop" }, ({ refresh }) => refresh(customer, { id: "c1" }));
  await before.stop();
  const app = defineApp({ store: storeAt(address, { clock }), connections: [], effects: [], testing: { clock } });
  expect(of(await examined(app), "refreshes")).toEqual([
    {
      level: "warning",
      subject: "refreshes",
      says: "a refresh of customer is due, and this configuration registers no resource of that kind",
      mend: "add it to resources in defineApp, with its fetch",
    },
  ]);
  const operator = app.operator({ who: "test" });
  expect(await operator.attention()).toEqual([]);
  clock.advance(3_600_000);
  expect(await operator.attention()).toMatchObject([{ kind: "resource", resource: "customer" }]);
  expect(await operator.refreshes()).toMatchObject([{ kind: "customer", id: "c1", running: false }]);
});

test("a missing secret, a connection without handlers and an effect that nobody can ask about are found", async () => {
  const { address } = await database();
  const notify = effect("notify/v1", {
    input: type<{ order: string }>(),
    request: () => ({ method: "POST", url: "https://hook.example/" }),
    idempotency: "none",
  });
  const app = defineApp({
    store: storeAt(address),
    connections: [connect("stripe", { provider: stripe, secrets: [undefined], tenant: "acme", handlers: [] })],
    effects: [notify],
  });
  const findings = await examined(app);
  expect(of(findings, "secrets")).toMatchObject([
    { level: "failure", says: expect.stringContaining("none is set"), mend: expect.stringContaining("variable") },
  ]);
  expect(of(findings, "configuration").map(({ level, says }) => `${level}: ${says}`)).toEqual([
    "ok: 1 connections under /hooks, 1 effects",
    'warning: connection "stripe" has no handler: its events are kept and ignored as unmapped',
    'warning: effect "notify/v1" has neither an idempotency key nor a lookup: each lost answer is for you to decide',
    "warning: nobody hears of trouble: there is no telemetry (counterfoil serve logs by itself)",
  ]);
});

test("work that is due and nobody's is found, and a destination that is paused", async () => {
  const { address } = await database();
  const app = orderApp(address);
  await app.open();
  const { store } = app.runtime;
  await store.transaction((tx) => tx.pauseDestination("https://carrier.example", "it answered 401"), { waitMs: 5_000 });
  const [paused] = of(await examined(app), "destinations");
  expect(paused).toMatchObject({ level: "warning", says: "https://carrier.example is paused: it answered 401" });
  expect(paused?.mend).toContain("counterfoil resume https://carrier.example");
});

test("a database that does not open is a finding like any other, and what needs it is left out", async () => {
  const { address } = await database();
  const app = orderApp(address);
  await app.open();
  onTestFinished(() => app.stop());
  const broken = replacing(app, {
    open: () => Promise.reject(Object.assign(new Error("canary"), { name: "TypeError" })),
  });
  const { examine } = await import("../../src/app/doctor.ts");
  const findings = await examine(broken);
  expect(findings.at(-1)).toMatchObject({ subject: "database", level: "failure" });
  expect(JSON.stringify(findings)).not.toContain("canary");
  expect(of(findings, "commit")).toEqual([]);
});

test.runIf(engine === "postgres")("clocks that are apart are found", async () => {
  const { address } = await database();
  const clock = new VirtualClock();
  const store = storeAt(address, { serverMs: () => clock.wallMs() + 60_000 });
  const app = defineApp({ store, connections: [], effects: [], migrate: true, testing: { clock } });
  expect(of(await examined(app), "clock")).toMatchObject([
    { level: "warning", says: expect.stringContaining("60 s apart"), mend: expect.stringContaining("NTP") },
  ]);
});
