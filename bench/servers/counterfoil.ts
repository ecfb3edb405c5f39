/** Counterfoil as one would set it up for the same job as `hand-written.ts`, with nothing tuned. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { connect, defineApp, effect, type } from "counterfoil";
import { stripe } from "counterfoil/providers";
import { sqlite } from "counterfoil/sqlite";
import { announceListening } from "../kit/child.ts";
import { createOrders } from "../kit/shop.ts";

const folder = process.argv[2];
const secret = process.env["STRIPE_SECRET"];
if (folder === undefined || secret === undefined) {
  throw new TypeError("Cannot start: give the data folder as argument and STRIPE_SECRET");
}

const ship = effect("ship/v1", {
  input: type<{ order: string }>(),
  request: ({ input, key }) => ({
    method: "POST",
    url: "https://carrier.example/v1/shipments",
    json: { ...input, ref: key },
  }),
  idempotency: { header: "Idempotency-Key", keyLifetime: "24h" },
});

const paid = stripe.on("payment_intent.succeeded", async ({ event, tx, owe, refuse, ignore }) => {
  const id = event.data.object.metadata["order"];
  if (id === undefined) return ignore("no order in metadata");
  const { changes } = await tx.sql`
    UPDATE orders SET status = 'paid' WHERE id = ${id} AND status = 'awaiting_payment'`;
  if (changes === 0) return refuse("order does not await payment");
  await owe(ship, { key: [id, "fulfil", "v1"], input: { order: id } });
});

const file = join(folder, "shop.db");
const app = defineApp({
  store: sqlite(file),
  connections: [connect("stripe", { provider: stripe, secrets: [secret], tenant: "acme", handlers: [paid] })],
  effects: [ship],
});
await app.start({ roles: ["receiver"] });
const database = new DatabaseSync(file);
createOrders(database);
database.close();
announceListening((await app.listen({ port: 0 })).url);
