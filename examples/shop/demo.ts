/**
 * `npm run demo`: a rough day in half a minute. A receiver and a worker run as processes of their own
 * on a temporary database, or with `-- --store postgres` on a temporary server; the worker is killed in
 * mid-call; the carriers lose answers. At the end the books are compared: what was owed, and what really
 * happened at the carriers.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { startFakeProvider } from "counterfoil/testing";
import { chooseStore } from "./choose-store.ts";
import { dataFolder } from "./data-folder.ts";
import { bookkeeping, printBooks } from "./demo-books.ts";
import { type DemoDelivery, type DemoOrder, demoDeliveries, demoOrders, refundDelivery } from "./demo-events.ts";

await using stack = new AsyncDisposableStack();
const folder = mkdtempSync(join(tmpdir(), "counterfoil-demo-"));
stack.defer(() => rmSync(folder, { recursive: true, force: true }));
const carrier = stack.use(await startFakeProvider());
const courier = stack.use(await startFakeProvider({ contract: "ignores" }));
Object.assign(process.env, { SHOP_DATA: folder, SHOP_CARRIER: carrier.url, SHOP_COURIER: courier.url });
const { values } = parseArgs({ options: { store: { type: "string", default: "sqlite" } } });
await chooseStore(values.store, stack);
const { secrets } = dataFolder(folder);
const { app } = await import("./demo.config.ts");
const { createTables, placeOrder } = await import("./orders.ts");

await app.open();
stack.defer(() => app.stop());
await createTables(app);
const orders = demoOrders(16);
for (const order of orders) if (!order.late) await placeOrder(app, { tenant: "acme", ...order });

const receiver = await startRole("receiver");
console.log(`Receiver on ${receiver.url}, ${orders.length} orders.`);
const answers = new Map<string, number>();
await Promise.all(
  orders.filter(({ refundedFirst }) => refundedFirst).map((order) => post(refundDelivery(order, secrets.stripe))),
);
const deliveries = shuffled(demoDeliveries(orders, secrets.stripe));
await Promise.all(deliveries.map(post));
console.log(`Sent ${deliveries.length} deliveries at once: ${describe(answers)}.`);
for (const order of orders) if (order.late) await placeOrder(app, { tenant: "acme", ...order });

// Each carrier holds its first call until the worker is dead, performs it all the same, and loses every third answer.
let calls = 0;
for (const provider of [carrier, courier]) {
  provider.failNext({ when: "before", kind: "hold" });
  provider.failWhen(({ method }) =>
    method === "POST" && ++calls % 3 === 0 ? { when: "after", kind: "reset" } : undefined,
  );
}
const doomed = await startRole("worker");
await until("both carriers are in mid-call", () => carrier.held + courier.held === 2);
doomed.process.kill("SIGKILL");
await doomed.ended;
carrier.release();
courier.release();
console.log("Killed the worker in mid-call; both carriers performed the calls all the same.");
await startRole("worker");

const operator = app.operator({ who: "demo" });
await until("nothing is owed any more", async () => {
  const { obligations, receipts } = await operator.status();
  const { done = 0, ...open } = obligations;
  return done > 0 && Object.values(open).every((count) => count === 0) && (receipts.parked ?? 0) === 0;
});
const books = await bookkeeping(app, { carrier, courier, orders, deliveries, answers });
process.exitCode = printBooks(books) ? 0 : 1;

interface Running {
  readonly process: ChildProcess;
  readonly url: string;
  readonly ended: Promise<void>;
}

/** Starts the shipped command line in a role, and waits for its ready line. */
async function startRole(role: "receiver" | "worker"): Promise<Running> {
  const main = new URL("../../src/cli/main.ts", import.meta.url).pathname;
  const config = new URL("./demo.config.ts", import.meta.url).pathname;
  const child = spawn(
    process.execPath,
    [
      "--conditions=counterfoil-source",
      main,
      "serve",
      "--config",
      config,
      "--role",
      role,
      "--port",
      "0",
      "--log",
      "silent",
      "--json",
    ],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  const ended = new Promise<void>((resolve) => void child.once("exit", () => resolve()));
  stack.defer(async () => {
    child.kill("SIGTERM");
    await ended;
  });
  for await (const line of createInterface({ input: child.stdout })) {
    return { process: child, url: (JSON.parse(line) as { url: string }).url, ended };
  }
  throw new Error(`The ${role} ended before it was ready`);
}

/** Posts as a sender does: again after a 5xx, until it is answered. */
async function post({ delivery }: DemoDelivery): Promise<void> {
  for (;;) {
    const { status } = await fetch(`${receiver.url}/hooks/stripe`, {
      method: "POST",
      headers: delivery.headers,
      body: Buffer.from(delivery.body),
    });
    if (status < 500) return void answers.set(String(status), (answers.get(String(status)) ?? 0) + 1);
    await pause(50);
  }
}

async function until(what: string, check: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!(await check())) {
    if (performance.now() > deadline) throw new Error(`Gave up after 60 s: ${what}`);
    await pause(50);
  }
}

function shuffled<T>(items: readonly T[]): readonly T[] {
  return items
    .map((item) => ({ item, at: Math.random() }))
    .toSorted((left, right) => left.at - right.at)
    .map(({ item }) => item);
}

function describe(counts: ReadonlyMap<string, number>): string {
  return [...counts]
    .toSorted(([left], [right]) => left.localeCompare(right))
    .map(([status, count]) => `${count} x ${status}`)
    .join(", ");
}

export type { DemoOrder };
