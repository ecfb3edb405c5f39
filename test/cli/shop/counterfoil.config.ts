/** A small shop for the command line's tests: its database, secret and carrier come by environment. */
import { type App, connect, defineApp, effect, jsonLogger, type } from "counterfoil";
import { stripe } from "counterfoil/providers";
import { storeAt } from "../../support/engine.ts";

const { SHOP_DATABASE = "shop.db", SHOP_SECRET, SHOP_CARRIER = "http://127.0.0.1:9", SHOP_REQUESTS_MS } = process.env;

const ship = effect("ship/v1", {
  input: type<{ order: string }>(),
  request: ({ input, key }) => ({
    method: "POST",
    url: `${SHOP_CARRIER}/v1/shipments`,
    json: { ...input, ref: key },
  }),
  idempotency: { header: "Idempotency-Key", keyLifetime: "24h" },
  allow: [SHOP_CARRIER],
});

const paid = stripe.on("payment_intent.succeeded", async ({ event, owe, waitFor }) => {
  const order = event.data.object.metadata["order"] ?? "none";
  if (order === "unknown") return waitFor("order", order);
  if (order === "broken") throw new Error("canary");
  await owe(ship, { key: [order, "fulfil", "v1"], input: { order } });
});

const app: App = defineApp({
  store: storeAt(SHOP_DATABASE),
  connections: [connect("stripe", { provider: stripe, secrets: [SHOP_SECRET], tenant: "acme", handlers: [paid] })],
  effects: [ship],
  ...(SHOP_REQUESTS_MS && { limits: { requestsMs: Number(SHOP_REQUESTS_MS) } }),
  ...(process.env["SHOP_LOG"] === "1" && { telemetry: jsonLogger() }),
});
export default app;
