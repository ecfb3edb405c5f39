/** A connection of one tenant, and one whose accounts are tenants: all of them use the same ids. */
import { type App, connect, defineApp, effect, type Resource, resource, type } from "counterfoil";
import type { Clock } from "../../../src/domain/clock.ts";
import { caseSecret, sender } from "../../support/case-delivery.ts";
import { storeAt } from "../../support/engine.ts";

export interface Side {
  readonly connection: string;
  readonly account: string;
  readonly tenant: string;
}

export const sides: readonly Side[] = [
  { connection: "left", account: "", tenant: "tenant-l" },
  { connection: "market", account: "acct-1", tenant: "tenant-1" },
  { connection: "market", account: "acct-2", tenant: "tenant-2" },
];

/** What an order owes; each is for another verb of the operator's. */
export const works = ["retry", "done", "cancel", "renew-key", "lookup"] as const;

export const stock: Resource<{ level: number }> = resource("stock", { state: type<{ level: number }>() });

interface TenantsOptions {
  readonly address: string;
  readonly carrier: string;
  readonly clock?: Clock;
}

export function tenantsApp({ address, carrier, clock }: TenantsOptions) {
  const ship = effect("ship/v1", {
    input: type<{ order: string }>(),
    request: ({ input, key }) => ({ method: "POST", url: `${carrier}/v1/shipments`, json: { ...input, ref: key } }),
    idempotency: "none",
    lookup: {
      get: ({ key }) => `${carrier}/v1/shipments?ref=${encodeURIComponent(key)}`,
      answer: type<{ shipments: { id: string }[] }>(),
      found: ({ shipments }) => shipments[0],
    },
    allow: [carrier],
  });
  const paid = sender.on("paid", async ({ event, tx, owe, waitFor }) => {
    const { changes } =
      await tx.sql`UPDATE orders SET status = 'paid' WHERE tenant = ${event.tenant} AND id = 'order-1'`;
    if (changes === 0) return waitFor("order", "order-1");
    for (const work of works) await owe(ship, { key: ["order-1", work], input: { order: "order-1" } });
  });
  const counted = sender.on("counted", async ({ event, snapshot }) => {
    const { level } = event.data as { readonly level: number };
    await snapshot(stock, { id: "item-1", revision: 2, state: { level } });
  });
  const common = { provider: sender, secrets: [caseSecret], handlers: [paid, counted] };
  const app = defineApp({
    store: storeAt(address, { clock }),
    connections: [
      connect("left", { ...common, tenant: "tenant-l" }),
      connect("market", {
        ...common,
        tenant: (account) => sides.find((side) => side.account === account)?.tenant ?? null,
      }),
    ],
    effects: [ship],
    ...(clock && { testing: { clock } }),
  });
  return { app, ship };
}

const { TENANTS_DATABASE = "tenants.db", TENANTS_CARRIER = "http://127.0.0.1:9" } = process.env;

const { app }: { readonly app: App } = tenantsApp({ address: TENANTS_DATABASE, carrier: TENANTS_CARRIER });
export default app;
