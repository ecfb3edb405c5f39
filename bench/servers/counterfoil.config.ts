/** Counterfoil as one would set it up for the same job as `hand-written.ts`, with nothing tuned. */
import { type App, connect, defineApp, effect, type } from "counterfoil";
import { stripe } from "counterfoil/providers";
import { storeAt } from "../kit/place.ts";

const { BENCH_PLACE = ".", STRIPE_SECRET } = process.env;

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

const app: App = defineApp({
  store: storeAt(BENCH_PLACE),
  connections: [connect("stripe", { provider: stripe, secrets: [STRIPE_SECRET], tenant: "acme", handlers: [paid] })],
  effects: [ship],
  migrate: true,
});
export default app;
