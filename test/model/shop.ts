/** The application under test: payments that owe parcels, customers mirrored by revision, and handlers that can be spoiled. */
import {
  type App,
  connect,
  defineApp,
  effect,
  type Emit,
  type Limits,
  resource,
  type Store,
  type Tx,
  type,
} from "counterfoil";
import { generic } from "counterfoil/providers";
import type { Clock } from "../../src/domain/clock.ts";
import type { Probe } from "../../src/domain/probe.ts";
import type { Random } from "../../src/domain/random.ts";
import { engine } from "../support/engine.ts";
import { keyLifetimeMs } from "./carriers.ts";
import { type Carrier, type Fact, lineOf, scopes, signingSecret } from "./facts.ts";
import { keyOf, type Spoil } from "./reference.ts";

export const leaseMs = 20_000;

/** Small, so that leases, keys and budgets end within a run. */
export const limits = {
  lockMs: 30_000,
  callMs: 8_000,
  connectMs: 8_000,
  leaseMs,
  heartbeatMs: 5_000,
  leaseMarginMs: 2_000,
  keyMarginMs: 10_000,
  settleDelayMs: 10_000,
  attemptsMax: 6,
  lookupsMax: 6,
  crashesMax: 4,
  hookTriesMax: 4,
  retryFirstMs: 1_000,
  retryMaxMs: 30_000,
  retryAfterMaxMs: 120_000,
  heldMaxMs: 60_000,
  heldTriesMax: 6,
  parkedRetryMs: 60_000,
  parkedDeadlineMs: 600_000,
} as const satisfies Partial<Limits>;

/** What goes wrong inside the application for now. */
export interface Mischief {
  readonly spoiled: ReadonlyMap<string, Spoil>;
  hookFails: boolean;
}

export interface ShopOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly probe: Probe;
  readonly emit: Emit;
  readonly mischief: Mischief;
  readonly urls: { readonly keeping: string; readonly ignoring: string };
}

export type Parcel = { readonly order: string; readonly carrier: string };
type Booking = { readonly id: string };

const sender = generic({
  name: "sender",
  ackMs: 60_000,
  retries: true,
  signature: { kind: "hmac", header: "x-signature", prefix: "sha256=" },
  identity: {
    id: { from: "body", path: ["id"] },
    type: { from: "body", path: ["type"] },
    account: [{ from: "body", path: ["account"] }],
  },
  data: ["data"],
}).typed<
  { type: "order.paid"; data: Data<"order.paid"> } | { type: "customer.changed"; data: Data<"customer.changed"> }
>();

type Data<Type extends Fact["type"]> = Omit<Extract<Fact, { readonly type: Type }>, "type">;

const customer = resource("customer", {
  state: type<{ email: string }>(),
  write: ({ tx, connection, account, id, revision, state }) => tx.sql`
    INSERT INTO customers (connection, account, id, revision, email)
    VALUES (${connection}, ${account}, ${id}, ${revision}, ${state?.email ?? null})
    ON CONFLICT (connection, account, id) DO UPDATE SET revision = excluded.revision, email = excluded.email`,
});

function parcelEffects({ urls, mischief }: Pick<ShopOptions, "urls" | "mischief">) {
  const notify = effect("notify/v1", {
    input: type<{ order: string }>(),
    request: ({ input, key }) => ({
      method: "POST",
      url: `${urls.keeping}/v1/shipments`,
      json: { ...input, ref: key, note: "canary" },
    }),
    headers: () => ({ authorization: "Bearer canary" }),
    idempotency: { header: "Idempotency-Key", keyLifetime: `${keyLifetimeMs}ms` },
    allow: [urls.keeping],
  });
  const ask = (url: string) => ({
    get: ({ key }: { readonly key: string }) => `${url}/v1/shipments?ref=${encodeURIComponent(key)}`,
    answer: type<{ shipments: Booking[] }>(),
    found: ({ shipments }: { readonly shipments: readonly Booking[] }) => shipments[0],
  });
  const parcel = (
    name: `${string}/v${number}`,
    url: string,
    contract: Pick<Parameters<typeof effect<Parcel, Booking, { shipments: Booking[] }>>[1], "idempotency" | "lookup">,
  ) =>
    effect<Parcel, Booking, { shipments: Booking[] }>(name, {
      input: type<Parcel>(),
      answer: type<Booking>(),
      request: ({ input, key }) => ({
        method: "POST",
        url: `${url}/v1/shipments`,
        json: { ...input, ref: key, note: "canary" },
      }),
      headers: () => ({ authorization: "Bearer canary" }),
      allow: [url],
      ...contract,
      settled: async ({ tx, operation: { tenant, input }, result, owe }) => {
        await tx.sql`
          UPDATE orders SET tracking = ${result.answer.id}, settled = settled + 1
          WHERE tenant = ${tenant} AND id = ${input.order}`;
        await owe(notify, { key: [input.order, "notify", "v1"], input: { order: input.order } });
        if (mischief.hookFails) throw new Error("canary: the hook fails for now");
      },
    });
  const keyed = { header: "Idempotency-Key", keyLifetime: `${keyLifetimeMs}ms` } as const;
  const byCarrier = {
    keeps_keys: parcel("ship/v1", urls.keeping, { idempotency: keyed, lookup: ask(urls.keeping) }),
    ignores_keys: parcel("courier/v1", urls.ignoring, { idempotency: "none", lookup: ask(urls.ignoring) }),
    cannot_be_asked: parcel("letter/v1", urls.ignoring, { idempotency: "none" }),
  } as const satisfies Record<Carrier, unknown>;
  return { notify, byCarrier };
}

/** Defines the shop, and the way its own code owes a parcel. */
export function shop(options: ShopOptions) {
  const { store, clock, random, probe, emit, mischief } = options;
  const { notify, byCarrier } = parcelEffects(options);

  /** Fails where the event's handler is spoiled, after its work. */
  async function spoil(
    event: { readonly connection: string; readonly account: string; readonly id: string },
    tx: Tx,
  ): Promise<void> {
    const how = mischief.spoiled.get(keyOf(event, event.id));
    if (how === "breaks") await breakIn(tx);
    if (how === "throws") throw new Error("canary: the handler fails for now");
  }
  const paid = sender.on("order.paid", async ({ event, tx, owe, waitFor, refuse }) => {
    const { order: id } = event.data;
    const [order] = await tx.sql<{ status: string; carrier: Carrier }>`
      SELECT status, carrier FROM orders WHERE tenant = ${event.tenant} AND id = ${id}`;
    if (order === undefined) return waitFor("order", id);
    const { changes } = await tx.sql`
      UPDATE orders SET status = 'paid'
      WHERE tenant = ${event.tenant} AND id = ${id} AND status = 'awaiting_payment'`;
    if (changes === 0) return refuse(`order is ${order.status}`);
    await owe(byCarrier[order.carrier], { key: [id, "fulfil", "v1"], input: { order: id, carrier: order.carrier } });
    await spoil(event, tx);
  });
  const changed = sender.on("customer.changed", async ({ event, tx, snapshot }) => {
    const { customer: id, revision, email } = event.data;
    await snapshot(customer, email === null ? { id, revision, deleted: true } : { id, revision, state: { email } });
    await spoil(event, tx);
  });
  const tenantOf = (account: string): string | null =>
    scopes.find((scope) => scope.account === account)?.tenant ?? null;
  const common = { provider: sender, secrets: [signingSecret], handlers: [paid, changed] };
  const app = defineApp({
    store,
    connections: [
      connect("market", { ...common, tenant: tenantOf }),
      connect("direct", { ...common, tenant: "north", failing: "refuse" }),
      connect("later", {
        ...common,
        tenant: "south",
        apply: "later",
        order: ({ type, data }) => lineOf({ type, ...(data as object) } as Fact),
      }),
    ],
    effects: [notify, ...Object.values(byCarrier)],
    limits,
    telemetry: emit,
    testing: { clock, random, probe },
  });
  return { app, byCarrier };
}

export type Shop = ReturnType<typeof shop>;

export async function createTables(app: App): Promise<void> {
  await app.transaction({ tenant: "north" }, async ({ tx }) => {
    await tx.sql`
      CREATE TABLE orders (
        tenant TEXT NOT NULL, id TEXT NOT NULL, carrier TEXT NOT NULL, status TEXT NOT NULL DEFAULT 'awaiting_payment',
        tracking TEXT, settled INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (tenant, id))`;
    await tx.sql`
      CREATE TABLE customers (
        connection TEXT NOT NULL, account TEXT NOT NULL, id TEXT NOT NULL, revision TEXT NOT NULL, email TEXT,
        PRIMARY KEY (connection, account, id))`;
    await tx.sql`
      CREATE TABLE tripwire (
        id INTEGER PRIMARY KEY, parent INTEGER REFERENCES tripwire (id) DEFERRABLE INITIALLY DEFERRED)`;
    await tx.sql`INSERT INTO tripwire (id) VALUES (1)`;
  });
}

/** Breaks a transaction from within: at once where an engine lets a statement do it, else at its COMMIT. */
async function breakIn(tx: Tx): Promise<void> {
  if (engine === "sqlite") await tx.sql`INSERT OR ROLLBACK INTO tripwire (id) VALUES (1)`;
  else await tx.sql`INSERT INTO tripwire (id, parent) VALUES (2, 3)`;
}
