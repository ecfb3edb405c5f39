/** The application of the soak: every process of a fleet serves it, over the same database. */
import { type App, connect, defineApp, effect, type Limits, resource, type Store, type } from "counterfoil";
import { postgres } from "counterfoil/postgres";
import { generic } from "counterfoil/providers";
import { sqlite } from "counterfoil/sqlite";
import { systemClock } from "../../src/domain/system-clock.ts";
import { settleDelay } from "./doubles.ts";
import { type Fact, shops } from "./facts.ts";

const { SOAK_DATABASE = "", SOAK_SECRET, SOAK_CARRIER = "", SOAK_COURIER = "" } = process.env;
const { SOAK_SKEW_MS = "0", SOAK_LIMITS = "{}" } = process.env;

type Data<Type extends Fact["type"]> = Omit<Extract<Fact, { readonly type: Type }>, "type">;
type Told<Type extends Fact["type"]> = { readonly type: Type; readonly data: Data<Type> };

const sender = generic({
  name: "sender",
  retries: true,
  signature: { kind: "hmac", header: "x-signature", prefix: "sha256=" },
  identity: { id: { from: "body", path: ["id"] }, type: { from: "body", path: ["type"] } },
  data: ["data"],
}).typed<
  Told<"order.placed"> | Told<"order.paid"> | Told<"item.added"> | Told<"invoice.asked"> | Told<"stock.counted">
>();

type Booking = { readonly id: string };

/** A provider that keeps its idempotency contract. */
const keyed = {
  answer: type<Booking>(),
  idempotency: { header: "Idempotency-Key", keyLifetime: "24h" },
  allow: [SOAK_CARRIER],
} as const;

const ship = effect("ship/v1", {
  ...keyed,
  input: type<{ order: string }>(),
  request: ({ input, key }) => ({ method: "POST", url: `${SOAK_CARRIER}/v1/shipments`, json: { ...input, ref: key } }),
  settled: ({ tx, operation: { tenant, input }, result }) => tx.sql`
    UPDATE orders SET tracking = ${result.answer.id}, settled = settled + 1
    WHERE tenant = ${tenant} AND id = ${input.order}`,
});

/** The same to a provider that knows no keys: only a lookup tells what was done. */
const courier = effect("courier/v1", {
  input: type<{ order: string }>(),
  answer: type<Booking>(),
  request: ({ input, key }) => ({ method: "POST", url: `${SOAK_COURIER}/v1/shipments`, json: { ...input, ref: key } }),
  idempotency: "none",
  lookup: {
    get: ({ key }) => `${SOAK_COURIER}/v1/shipments?ref=${encodeURIComponent(key)}`,
    answer: type<{ shipments: Booking[] }>(),
    found: ({ shipments }) => shipments[0],
    settleDelay,
  },
  allow: [SOAK_COURIER],
  settled: ({ tx, operation: { tenant, input }, result }) => tx.sql`
    UPDATE orders SET tracking = ${result.answer.id}, settled = settled + 1
    WHERE tenant = ${tenant} AND id = ${input.order}`,
});

const invoice = effect("invoice/v1", {
  ...keyed,
  input: type<{ order: string; amount: number }>(),
  request: ({ input, key }) => ({ method: "POST", url: `${SOAK_CARRIER}/v1/shipments`, json: { ...input, ref: key } }),
});

const stock = resource("stock", {
  state: type<{ level: number }>(),
  write: ({ tx, tenant, id, revision, state }) => tx.sql`
    INSERT INTO stock (tenant, item, revision, level) VALUES (${tenant}, ${id}, ${Number(revision)}, ${state?.level ?? null})
    ON CONFLICT (tenant, item) DO UPDATE SET revision = excluded.revision, level = excluded.level`,
});

const placed = sender.on("order.placed", async ({ event: { tenant, data }, tx, arrived }) => {
  await tx.sql`INSERT INTO orders (tenant, id) VALUES (${tenant}, ${data.order})`;
  await arrived("order", data.order);
});

const paid = sender.on("order.paid", async ({ event: { tenant, data }, tx, owe, waitFor, refuse }) => {
  const [order] = await tx.sql<{ status: string }>`
    SELECT status FROM orders WHERE tenant = ${tenant} AND id = ${data.order}`;
  if (order === undefined) return waitFor("order", data.order);
  const { changes } = await tx.sql`
    UPDATE orders SET status = 'paid' WHERE tenant = ${tenant} AND id = ${data.order} AND status = 'placed'`;
  if (changes === 0) return refuse("it is paid already");
  const byCourier = data.order.endsWith("7");
  await owe(byCourier ? courier : ship, { key: [data.order, "fulfil", "v1"], input: { order: data.order } });
});

const added = sender.on("item.added", async ({ event: { tenant, data }, tx, waitFor }) => {
  const { changes } = await tx.sql`
    UPDATE orders SET items = items + 1, total = total + ${data.amount} WHERE tenant = ${tenant} AND id = ${data.order}`;
  if (changes === 0) waitFor("order", data.order);
});

const asked = sender.on("invoice.asked", async ({ event: { tenant, data }, tx, owe, waitFor }) => {
  const found = await tx.sql`SELECT 1 FROM orders WHERE tenant = ${tenant} AND id = ${data.order}`;
  if (found.length === 0) return waitFor("order", data.order);
  await owe(invoice, { key: [data.order, "invoice", "v1"], input: { order: data.order, amount: data.amount } });
});

const counted = sender.on("stock.counted", async ({ event: { data }, snapshot }) => {
  await snapshot(stock, { id: data.item, revision: data.revision, state: { level: data.level } });
});

/** Leases end within a soak, and no budget does: whatever is owed has to come out right in the end. */
const limits = {
  callMs: 4_000,
  connectMs: 4_000,
  leaseMs: 8_000,
  heartbeatMs: 1_500,
  leaseMarginMs: 2_000,
  keyMarginMs: 10_000,
  attemptsMax: 100_000,
  lookupsMax: 100_000,
  crashesMax: 100_000,
  hookTriesMax: 100_000,
  retryFirstMs: 50,
  retryMaxMs: 2_000,
  pollMs: 250,
  ...(JSON.parse(SOAK_LIMITS) as Partial<Limits>),
};

/** A machine whose clock is wrong by this much. */
function skewed(skewMs: number) {
  const clock = systemClock();
  return { ...clock, wallMs: () => clock.wallMs() + skewMs };
}

function store(): Store {
  if (!SOAK_DATABASE.startsWith("postgres:")) return sqlite(SOAK_DATABASE);
  // A server that hangs is given up before a lease ends.
  return postgres({ connectionString: SOAK_DATABASE, connectMs: 3_000, statementMs: 3_000, commitMs: 3_000 });
}

const app: App = defineApp({
  store: store(),
  connections: shops.map((shop) =>
    connect(shop, {
      provider: sender,
      secrets: [SOAK_SECRET],
      tenant: shop,
      handlers: [placed, paid, added, asked, counted],
    }),
  ),
  effects: [ship, courier, invoice],
  limits,
  ...(SOAK_SKEW_MS !== "0" && { testing: { clock: skewed(Number(SOAK_SKEW_MS)) } }),
});
export default app;
