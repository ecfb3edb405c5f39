/**
 * One application with a little of everything, for tests that kill it: two kinds of effects, prerequisites,
 * snapshots; and for orders named "lined" a line of effects, one by a function of the user's, one that waits
 * until it is taken back, and a resource that is asked for at its source.
 */
import { type App, connect, defineApp, effect, resource, sendEffect, type } from "counterfoil";
import { type SignedDelivery, stripe } from "counterfoil/providers";
import type { Clock } from "../../src/domain/clock.ts";
import type { Probe } from "../../src/domain/probe.ts";
import { systemClock } from "../../src/domain/system-clock.ts";
import { sampleDelivery } from "../../src/providers/sample-delivery.ts";
import { storeAt } from "./engine.ts";
import { patient } from "./patient.ts";

const secret = "whsec_a_secret_of_the_crash_tests";

export interface CrashAppOptions {
  readonly address: string;
  readonly carrier: string;
  readonly probe?: Probe;
  readonly clock?: Clock;
}

/** The machine's clock, ahead: every lease of a process that died has ended for it. */
export function clockAhead(aheadMs: number): Clock {
  const real = systemClock();
  return {
    ...real,
    wallMs: () => real.wallMs() + aheadMs,
    monotonicMs: () => real.monotonicMs() + aheadMs,
  };
}

export function crashApp({ address, carrier, probe, clock }: CrashAppOptions): App {
  const common = {
    input: type<{ order: string }>(),
    answer: type<{ id: string }>(),
    lookup: {
      get: ({ key }: { readonly key: string }) => `${carrier}/v1/shipments?ref=${encodeURIComponent(key)}`,
      answer: type<{ shipments: { id: string }[] }>(),
      found: ({ shipments }: { readonly shipments: readonly { id: string }[] }) => shipments[0],
      settleDelay: "0s",
    },
    allow: [carrier],
  } as const;
  const ship = effect("ship/v1", {
    ...common,
    request: ({ input, key }) => ({ method: "POST", url: `${carrier}/v1/shipments`, json: { ...input, ref: key } }),
    idempotency: { header: "Idempotency-Key", keyLifetime: "24h" },
    settled: ({ tx, operation, result }) =>
      tx.sql`UPDATE orders SET tracking = ${result.answer.id} WHERE id = ${operation.input.order}`,
  });
  // The same carrier, called without a key: only a lookup can tell what was done.
  const courier = effect("courier/v1", {
    ...common,
    request: ({ input, key }) => ({ method: "POST", url: `${carrier}/v1/shipments`, json: { ...input, ref: key } }),
    idempotency: "none",
    settled: ({ tx, operation, result }) =>
      tx.sql`UPDATE orders SET tracking = ${result.answer.id} WHERE id = ${operation.input.order}`,
  });
  const thank = sendEffect<{ order: string }, { id: string }>("thank/v1", {
    input: type<{ order: string }>(),
    answer: type<{ id: string }>(),
    destination: carrier,
    idempotency: { keyLifetime: "24h" },
    send: async ({ operation: { key, input }, idempotencyKey, signal, done, answered }) => {
      const headers = { "content-type": "application/json", "idempotency-key": idempotencyKey };
      const body = JSON.stringify({ ...input, ref: key });
      const response = await fetch(`${carrier}/v1/shipments`, { method: "POST", headers, body, signal });
      return response.ok ? done((await response.json()) as { id: string }) : answered(response.status);
    },
  });
  const gift = effect("gift/v1", {
    ...common,
    request: ({ input, key }) => ({ method: "POST", url: `${carrier}/v1/shipments`, json: { ...input, ref: key } }),
    idempotency: "none",
    abandoned: ({ tx, operation }) =>
      tx.sql`UPDATE orders SET given_up = given_up + 1 WHERE id = ${operation.input.order}`,
  });
  const parcels = resource("parcels", {
    state: type<{ count: number }>(),
    write: ({ tx, id, state }) => tx.sql`UPDATE orders SET parcels = ${state?.count ?? null} WHERE id = ${id}`,
    fetch: {
      get: ({ id }) => `${carrier}/v1/shipments?ref=${encodeURIComponent(`acme/${id}/parcels`)}`,
      allow: [carrier],
      answer: type<{ shipments: { id: string }[] }>(),
      found: ({ shipments }) => ({ state: { count: shipments.length } }),
    },
  });
  const customer = resource("customer", { state: type<{ email: string }>() });
  const paid = stripe.on("payment_intent.succeeded", async (work) => {
    const { event, tx, owe, snapshot, waitFor, refuse } = work;
    const { order: id = "", revision = "1" } = event.data.object.metadata;
    const [order] = await tx.sql<{ status: string }>`SELECT status FROM orders WHERE id = ${id}`;
    if (order === undefined) return waitFor("order", id);
    await snapshot(customer, { id, revision, state: { email: `${id}@example.test` } });
    const { changes } = await tx.sql`
      UPDATE orders SET status = 'paid' WHERE id = ${id} AND status = 'awaiting_payment'`;
    if (changes === 0) return refuse(`order is ${order.status}`);
    const input = { order: id };
    if (!id.startsWith("lined")) {
      await owe(id.startsWith("keyless") ? courier : ship, { key: [id, "fulfil", "v1"], input });
      return;
    }
    const orderKey = ["order", id] as const;
    await owe(ship, { key: [id, "fulfil", "v1"], input, orderKey });
    await owe(thank, { key: [id, "thank", "v1"], input, orderKey });
    await owe(gift, { key: [id, "gift", "v1"], input, notBefore: new Date("2100-01-01") });
    await work.refresh(parcels, { id });
  });
  return defineApp({
    store: storeAt(address, { clock, probe }),
    connections: [
      connect("stripe", { provider: patient(stripe), secrets: [secret], tenant: "acme", handlers: [paid] }),
      connect("later", {
        provider: patient(stripe),
        secrets: [secret],
        tenant: "acme",
        handlers: [paid],
        apply: "later",
        order: () => "one line",
      }),
    ],
    effects: [ship, courier, thank, gift],
    resources: [parcels],
    limits: { pollMs: 50, retryFirstMs: 10, lockMs: 10_000 },
    testing: { ...(clock && { clock }), ...(probe && { probe }) },
  });
}

export async function createOrders(app: App): Promise<void> {
  await app.transaction({ tenant: "acme" }, async ({ tx }) => {
    await tx.sql`
      CREATE TABLE IF NOT EXISTS orders (
        id TEXT PRIMARY KEY, status TEXT NOT NULL DEFAULT 'awaiting_payment', tracking TEXT,
        parcels INTEGER, given_up INTEGER NOT NULL DEFAULT 0)`;
  });
}

export async function addOrder(app: App, id: string): Promise<void> {
  await app.transaction({ tenant: "acme" }, async ({ tx, arrived }) => {
    await tx.sql`INSERT INTO orders (id) VALUES (${id}) ON CONFLICT DO NOTHING`;
    await arrived("order", id);
  });
}

/** The customer wants no gift. To say so again changes nothing. */
export async function takeBackGift(app: App, id: string): Promise<void> {
  await app.transaction({ tenant: "acme" }, ({ withdraw }) => withdraw([id, "gift", "v1"]));
}

export function crashPayment(id: string, order: string): SignedDelivery {
  return sampleDelivery(stripe.rules, {
    secret,
    id,
    type: "payment_intent.succeeded",
    timestampMs: Date.now(),
    body: {
      data: { object: { id: `pi_${order}`, amount_received: 1, currency: "eur", metadata: { order, revision: "1" } } },
    },
  });
}
