/**
 * A real process is killed by SIGKILL at every step of receive, claim, send, look up and settle: each
 * statement, each COMMIT, each write and read of a socket, before and after. After each death another
 * process goes on with the database, the sender sends again what was not acknowledged, and the promises hold.
 *
 * The gate kills at about a hundred steps on SQLite and at half as many on PostgreSQL, spread evenly from
 * a random start; COUNTERFOIL_KILLS=all kills at each. COUNTERFOIL_SCENARIO takes those alone whose name has
 * that text in it.
 */
import type { App } from "counterfoil";
import { type FakeProvider, startFakeProvider } from "counterfoil/testing";
import { describe, expect, test } from "vitest";
import { eventually } from "../../src/testing/eventually.ts";
import { startProcess } from "../../src/testing/processes.ts";
import { rawExchange } from "../../src/testing/raw-http.ts";
import { addOrder, clockAhead, crashApp, crashPayment, createOrders, takeBackGift } from "../support/crash-app.ts";
import { engine, type TemporaryDatabase, temporaryDatabase } from "../support/engine.ts";
import { rawRequest } from "../support/hooks-server.ts";
import { checkInvariants } from "../support/invariants.ts";

const kills = process.env["COUNTERFOIL_KILLS"] ?? (engine === "sqlite" ? 34 : 17);
const wanted = process.env["COUNTERFOIL_SCENARIO"] ?? "";
const killsMax = kills === "all" ? Number.POSITIVE_INFINITY : Number(kills);

interface Scenario {
  readonly name: string;
  readonly order: string;
  /** The order is there before its payment. */
  readonly placed: boolean;
  readonly connection: "stripe" | "later";
  /** What more there is than a shipment: a line, a gift that is taken back, and a look at the source. */
  readonly lined?: true;
}

const scenarios: readonly Scenario[] = [
  { name: "a provider that keeps keys", order: "keyed-1", placed: true, connection: "stripe" },
  { name: "a provider without a contract, by lookup", order: "keyless-1", placed: true, connection: "stripe" },
  { name: "an event that waits for its order", order: "keyed-2", placed: false, connection: "stripe" },
  { name: "an event that is applied later, in a line", order: "keyed-3", placed: true, connection: "later" },
  {
    name: "a line of effects, one by a function, one taken back, and a refresh",
    order: "lined-1",
    placed: true,
    connection: "stripe",
    lined: true,
  },
];

/** A kill takes a second or two on a free machine, and there are some hundreds of steps. */
const timeout = kills === "all" ? 4 * 3_600_000 : 600_000;

describe.each(scenarios.filter(({ name }) => name.includes(wanted)))("killed at every step: $name", (scenario) => {
  test("acknowledged is kept, and each effect happens once", { timeout }, async () => {
    await using stack = new AsyncDisposableStack();
    const template = stack.use(await temporaryDatabase());
    const app = crashApp({ address: template.address, carrier: "http://127.0.0.1:9" });
    await createOrders(app);
    if (scenario.placed) await addOrder(app, scenario.order);
    await app.stop();

    const points = await live({ scenario, template, killAt: 0 });
    const step = Math.max(1, Math.floor(points / killsMax));
    const first = 1 + Math.floor(Math.random() * step);
    let killed = 0;
    for (let n = first; n <= points; n += step) {
      await live({ scenario, template, killAt: n });
      killed += 1;
    }
    process.stdout.write(`${scenario.name}: ${points} steps, killed at ${killed}, each ${step} from ${first}\n`);
    expect(points).toBeGreaterThan(40);
  });
});

interface Life {
  readonly scenario: Scenario;
  /** What each life begins with. */
  readonly template: TemporaryDatabase;
  /** The step to die at; 0 lives on and counts. */
  readonly killAt: number;
}

/** One life of a process, its death, and the recovery. Gives the number of steps of a life that was not ended. */
async function live({ scenario, template, killAt }: Life): Promise<number> {
  await using stack = new AsyncDisposableStack();
  const { address } = stack.use(await template.copy());
  const carrier = stack.use(
    await startFakeProvider({ contract: scenario.order.startsWith("keyless") ? "ignores" : "keeps" }),
  );
  const delivery = crashPayment(`evt-${scenario.order}`, scenario.order);

  const acknowledged = await firstLife({ address, carrier, delivery, scenario, killAt });
  const app = crashApp({ address, carrier: carrier.url, clock: clockAhead(120_000) });
  stack.defer(() => app.stop());
  await app.open();
  if (acknowledged.status !== undefined) {
    const known = await app.runtime.store.reader.receipts(
      { connection: scenario.connection, eventId: `evt-${scenario.order}` },
      { limit: 2 },
    );
    expect(known, `acknowledged with ${acknowledged.status} at step ${killAt}`).toHaveLength(1);
  }
  await app.receive(scenario.connection, crashPayment(`evt-${scenario.order}`, scenario.order));
  await addOrder(app, scenario.order);
  if (scenario.lined) await takeBackGift(app, scenario.order);
  await app.start({ roles: ["worker"] });
  const operator = app.operator({ who: "test" });
  await eventually(
    async () => {
      const { receipts, obligations } = await operator.status();
      const { done = 0, withdrawn = 0 } = obligations;
      const isOver = scenario.lined ? done === 2 && withdrawn === 1 && (await linedIsOver(app, scenario)) : done === 1;
      return receipts.applied === 1 && isOver;
    },
    { withinMs: 60_000, what: `recovery from step ${killAt}` },
  );
  await checkInvariants(app, { carrier, where: `step ${killAt}` });
  if (scenario.lined) checkLine(carrier, `step ${killAt}`);
  return acknowledged.points;
}

/** The gift was given up once, and the source was asked. */
async function linedIsOver(app: App, { order }: Scenario): Promise<boolean> {
  const [row] = await app.transaction({ tenant: "acme" }, async ({ tx }) => [
    ...(await tx.sql<{ given_up: number; parcels: number | null }>`
      SELECT given_up, parcels FROM orders WHERE id = ${order}`),
  ]);
  expect(row?.given_up, "the gift's hook ran").toBeLessThanOrEqual(1);
  return row?.given_up === 1 && row.parcels === 0;
}

/** The thanks took effect behind the parcel, and nobody sent a gift. */
function checkLine({ effects }: FakeProvider, where: string): void {
  const verbs = effects.map(({ ref }) => ref?.split("/")[2]);
  expect(verbs, `${where}: what took effect, in order`).toEqual(["fulfil", "thank"]);
}

interface FirstLife {
  readonly address: string;
  readonly carrier: FakeProvider;
  readonly delivery: ReturnType<typeof crashPayment>;
  readonly scenario: Scenario;
  readonly killAt: number;
}

/** The life that may be ended: whether its receiver acknowledged, and how many steps it took. */
async function firstLife({
  address,
  carrier,
  delivery,
  scenario,
  killAt,
}: FirstLife): Promise<{ status?: number; points: number }> {
  const file = new URL("../children/life.ts", import.meta.url);
  await using child = startProcess(file, {
    arguments: [address, carrier.url],
    environment: killAt > 0 ? { COUNTERFOIL_KILL_AT: String(killAt) } : {},
  });
  let status: number | undefined;
  let points = 0;
  try {
    const port = Number(await child.ask("listen"));
    const answer = await rawExchange(port, rawRequest(delivery, { path: `/hooks/${scenario.connection}` }));
    if (answer.status >= 200 && answer.status < 300) status = answer.status;
    if (!scenario.placed) await child.ask("place", scenario.order);
    if (scenario.lined) await child.ask("take back", scenario.order);
    await child.ask("work");
    points = Number(await child.ask("points"));
    await child.ask("stop");
    await child.finish();
  } catch (error) {
    if (killAt === 0) throw error;
  }
  const { signal, code } = await child.ended;
  if (killAt === 0) expect(code).toBe(0);
  // Loops run by time, so that a life may be over before its step has come.
  else expect(signal === "SIGKILL" || code === 0, child.output).toBe(true);
  return { ...(status !== undefined && { status }), points };
}
