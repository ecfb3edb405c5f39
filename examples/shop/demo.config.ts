/** The shop with short leases, so that a killed worker's calls are taken up again while you watch. */
import { type App, connect, defineApp } from "counterfoil";
import { stripe } from "counterfoil/providers";
import { dataFolder } from "./data-folder.ts";
import { courier, refund, ship } from "./fulfilment.ts";
import { paid, refunded } from "./payments.ts";
import { shopStore } from "./shop-store.ts";

const { database, secrets } = dataFolder();

export const app: App = defineApp({
  store: shopStore(database),
  connections: [
    connect("stripe", { provider: stripe, secrets: [secrets.stripe], tenant: "acme", handlers: [paid, refunded] }),
  ],
  effects: [ship, courier, refund],
  limits: {
    connectMs: 1_000,
    callMs: 1_500,
    leaseMs: 8_000,
    leaseMarginMs: 1_000,
    heartbeatMs: 1_000,
    keyMarginMs: 8_000,
    pollMs: 200,
    retryFirstMs: 100,
    retryMaxMs: 1_000,
    parkedRetryMs: 2_000,
  },
});
export default app;
