import { type App, connect, defineApp, jsonLogger } from "counterfoil";
import { stripe } from "counterfoil/providers";
import { dataFolder } from "./data-folder.ts";
import { courier, refund, ship } from "./fulfilment.ts";
import { paid, refunded } from "./payments.ts";
import { shopStore } from "./shop-store.ts";

/** Stripe accounts of the shops that sell through the marketplace; an account that is not here has no tenant. */
const sellers: Readonly<Record<string, string>> = { acct_north: "north", acct_south: "south" };

export function shopApp(): App {
  const { database, secrets } = dataFolder();
  return defineApp({
    store: shopStore(database),
    connections: [
      connect("stripe", { provider: stripe, secrets: [secrets.stripe], tenant: "acme", handlers: [paid, refunded] }),
      connect("marketplace", {
        provider: stripe,
        secrets: [secrets.marketplace],
        tenant: (account) => sellers[account] ?? null,
        handlers: [paid, refunded],
      }),
    ],
    effects: [ship, courier, refund],
    ...(process.env["SHOP_LOG"] === "1" && { telemetry: jsonLogger() }),
  });
}

export const app: App = shopApp();
export default app;
