/**
 * Runs the examples of docs/transactions.md, which stand as files in a folder: each places an order under
 * its own name. Prints what the hook answered. In a process of its own, since their pools are never ended.
 */
import { join, resolve } from "node:path";
import { type App, defineApp } from "counterfoil";
import { sqlite } from "counterfoil/sqlite";
import { prismaClient } from "../../support/tools/prisma-client.ts";

interface Example {
  readonly default: App;
  readonly placeOrder: (id: string, ...given: unknown[]) => Promise<void>;
  readonly hook: (request: Request) => Promise<Response>;
}

const [folder = "", ...tools] = process.argv.slice(2);
const example = (name: string): Promise<Example> => import(resolve(folder, `${name}.ts`)) as Promise<Example>;

for (const tool of tools) {
  const given = tool === "prisma" ? [prismaClient(process.env["DATABASE_URL"] ?? "")] : [];
  await (await example(tool)).placeOrder(tool, ...given);
}

const { default: app } = await example("counterfoil.config");
const { hook } = await example("a-receipt-in-your-transaction");
const event = { object: { id: "pi_1", object: "payment_intent", metadata: { order: "pg" } } };
const body = JSON.stringify({
  id: "evt_1",
  object: "event",
  type: "payment_intent.succeeded",
  livemode: false,
  data: event,
});
const answers: unknown[] = [];
for (let copy = 0; copy < 2; copy += 1) {
  const { headers, body: signed } = app.trialDelivery("stripe", { body: new TextEncoder().encode(body) });
  const request = new Request("http://shop.example/hooks", { method: "POST", headers, body: signed.slice() });
  answers.push(await (await hook(request)).json());
}

const path = join(folder, "shop.db");
const embedded = defineApp({ store: sqlite(path), connections: [], effects: [] });
await embedded.transaction({ tenant: "acme" }, ({ tx }) => tx.sql`CREATE TABLE orders (id TEXT, status TEXT)`);
await (await example("sqlite")).placeOrder("sqlite", embedded, path);
const placed = await embedded.transaction({ tenant: "acme" }, ({ tx }) => tx.sql`SELECT id FROM orders`);

process.stdout.write(JSON.stringify({ answers, placed }), () => process.exit());
