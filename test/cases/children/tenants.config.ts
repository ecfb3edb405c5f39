/** A connection of one tenant, one whose accounts are tenants, and one that is looked up: all of them use the same ids. */
import { type App, connect, connectEach, defineApp, effect, type Resource, resource, type } from "counterfoil";
import type { Clock } from "../../../src/domain/clock.ts";
import { caseSecret, sender } from "../../support/case-delivery.ts";
import { storeAt } from "../../support/engine.ts";
import { Walk } from "../../support/walk.ts";

export interface Side {
  readonly connection: string;
  readonly account: string;
  readonly tenant: string;
}

export const sides: readonly Side[] = [
  { connection: "left", account: "", tenant: "tenant-l" },
  { connection: "market", account: "acct-1", tenant: "tenant-1" },
  { connection: "market", account: "acct-2", tenant: "tenant-2" },
  { connection: "shops/one", account: "", tenant: "tenant-one" },
];

/** What an order owes; each is for another verb of the operator's. */
export const works = ["retry", "done", "cancel", "renew-key", "lookup"] as const;

export const stock: Resource<{ level: number }> = resource("stock", { state: type<{ level: number }>() });

interface TenantsOptions {
  readonly address: string;
  readonly carrier: string;
  readonly clock?: Clock;
  /** Sees what handlers are given. */
  readonly walk?: Walk;
}

export function tenantsApp({ address, carrier, clock, walk = new Walk() }: TenantsOptions) {
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
  const parcels = resource("parcels", {
    state: type<{ count: number }>(),
    fetch: {
      get: ({ id }) => `${carrier}/v1/shipments?ref=${encodeURIComponent(id)}`,
      answer: type<{ shipments: unknown[] }>(),
      found: ({ shipments }) => ({ state: { count: shipments.length } }),
      allow: [carrier],
    },
  });
  const paid = sender.on("paid", async (context) => {
    const { event, tx, owe, waitFor } = walk.noting("handler", context);
    const { changes } =
      await tx.sql`UPDATE orders SET status = 'paid' WHERE tenant = ${event.tenant} AND id = 'order-1'`;
    if (changes === 0) return waitFor("order", "order-1");
    for (const work of works) await owe(ship, { key: ["order-1", work], input: { order: "order-1" } });
  });
  const counted = sender.on("counted", async ({ event, snapshot }) => {
    const { level } = event.data as { readonly level: number };
    await snapshot(stock, { id: "item-1", revision: 2, state: { level } });
  });
  const shrugged = sender.on("shrugged", (context) => walk.noting("handler", context).ignore("nothing to do"));
  const forbidden = sender.on("forbidden", (context) => walk.noting("handler", context).refuse("it may not be"));
  const everything = sender.on("everything", async (context) => {
    const { event, owe, withdraw, snapshot, refresh, arrived } = walk.noting("handler", context);
    await owe(ship, { key: ["of a handler"], input: { order: event.id } });
    await withdraw(["of a handler"]);
    await snapshot(stock, { id: "item-2", revision: 1, state: { level: 1 } });
    await refresh(parcels, { id: "parcel-2" });
    await arrived("parcel", "parcel-2");
  });
  const handlers = [paid, counted, shrugged, forbidden, everything];
  const common = { provider: sender, secrets: [caseSecret], handlers };
  const app = defineApp({
    store: storeAt(address, { clock }),
    connections: [
      connect("left", { ...common, tenant: "tenant-l" }),
      connect("market", {
        ...common,
        tenant: (account) => sides.find((side) => side.account === account && account !== "")?.tenant ?? null,
      }),
      connectEach("shops/:shop", ({ shop }) => ({ ...common, tenant: `tenant-${shop}` })),
    ],
    effects: [ship],
    resources: [parcels],
    ...(clock && { testing: { clock } }),
  });
  return { app, ship, parcels };
}

const { TENANTS_DATABASE = "tenants.db", TENANTS_CARRIER = "http://127.0.0.1:9" } = process.env;

const { app }: { readonly app: App } = tenantsApp({ address: TENANTS_DATABASE, carrier: TENANTS_CARRIER });
export default app;
