/**
 * A process that receives and carries out is killed at some step, its store is moved, and another process
 * goes on with it on the server: what was acknowledged is there, and each effect happens once.
 */
import { DatabaseSync } from "node:sqlite";
import { type FakeProvider, startFakeProvider } from "counterfoil/testing";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/domain/system-clock.ts";
import { eventually } from "../../src/testing/eventually.ts";
import { startProcess } from "../../src/testing/processes.ts";
import { rawExchange } from "../../src/testing/raw-http.ts";
import { addOrder, clockAhead, crashApp, crashPayment, createOrders } from "../support/crash-app.ts";
import { rawRequest } from "../support/hooks-server.ts";
import { checkInvariants } from "../support/invariants.ts";
import { ask } from "../support/postgres-query.ts";
import { postgresServer } from "../support/postgres.ts";
import { sqliteDatabase } from "../support/sqlite-database.ts";
import { runCopy } from "./run-copy.ts";

const killsMax = Number(process.env["COUNTERFOIL_KILLS"] ?? 4);

describe.each(["keyed-1", "keyless-1"])("a store that is moved after a death, with %s", (order) => {
  test("has what was acknowledged, and each effect happens once", { timeout: 600_000 }, async () => {
    const points = await live(order, 0);
    expect(points).toBeGreaterThan(40);
    const step = Math.max(1, Math.floor(points / killsMax));
    for (let n = 1 + Math.floor(Math.random() * step); n <= points; n += step) await live(order, n);
  });
});

/** One life on a file that may end early, the move, and the recovery on the server. Gives the steps of a life that did not. */
async function live(order: string, killAt: number): Promise<number> {
  await using stack = new AsyncDisposableStack();
  const { address: path } = stack.use(await sqliteDatabase({ inMemory: true }));
  const { url } = stack.use(await (await postgresServer()).createDatabase());
  const carrier = stack.use(await startFakeProvider({ contract: order.startsWith("keyless") ? "ignores" : "keeps" }));
  const old = crashApp({ address: path, carrier: carrier.url });
  stack.defer(() => old.stop());
  await createOrders(old);
  await addOrder(old, order);
  const { acknowledged, points } = await firstLife({ path, carrier, order, killAt });

  await moveOrders(path, url);
  await runCopy({ path, url, clock: systemClock() }, { final: true });
  await expect(old.receive("stripe", crashPayment("late", order))).rejects.toMatchObject({ code: "STORE_MOVED" });
  await expect(old.ready()).rejects.toMatchObject({ code: "STORE_MOVED" });

  const app = crashApp({ address: url, carrier: carrier.url, clock: clockAhead(120_000) });
  stack.defer(() => app.stop());
  await app.open();
  if (acknowledged) {
    const known = await app.runtime.store.reader.receipts({ eventId: `evt-${order}` }, { limit: 2 });
    expect(known, `acknowledged before ${killAt}`).toHaveLength(1);
  }
  await app.receive("stripe", crashPayment(`evt-${order}`, order));
  await app.start({ roles: ["worker"] });
  const operator = app.operator({ who: "test" });
  await eventually(
    async () => {
      const { receipts, obligations } = await operator.status();
      return receipts.applied === 1 && obligations.done === 1;
    },
    { withinMs: 60_000, what: `recovery from step ${killAt}` },
  );
  await checkInvariants(app, { carrier, where: `step ${killAt}` });
  return points;
}

/** The user's own tables are the user's to move, while nothing uses them. */
async function moveOrders(path: string, url: string): Promise<void> {
  await ask(url, "CREATE TABLE orders (id TEXT PRIMARY KEY, status TEXT NOT NULL, tracking TEXT)");
  using database = new DatabaseSync(path);
  for (const { id, status, tracking } of database.prepare("SELECT * FROM orders").all()) {
    await ask(url, "INSERT INTO orders VALUES ($1, $2, $3)", [id, status, tracking]);
  }
}

interface FirstLife {
  readonly path: string;
  readonly carrier: FakeProvider;
  readonly order: string;
  readonly killAt: number;
}

async function firstLife({
  path,
  carrier,
  order,
  killAt,
}: FirstLife): Promise<{ acknowledged: boolean; points: number }> {
  await using child = startProcess(new URL("../children/life.ts", import.meta.url), {
    arguments: [path, carrier.url],
    environment: killAt > 0 ? { COUNTERFOIL_KILL_AT: String(killAt) } : {},
  });
  let acknowledged = false;
  let points = 0;
  try {
    const port = Number(await child.ask("listen"));
    const { status } = await rawExchange(port, rawRequest(crashPayment(`evt-${order}`, order), {}));
    acknowledged = status >= 200 && status < 300;
    await child.ask("work");
    points = Number(await child.ask("points"));
    await child.ask("stop");
    await child.finish();
  } catch (error) {
    if (killAt === 0) throw error;
  }
  await child.ended;
  return { acknowledged, points };
}
