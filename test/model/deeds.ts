/** What a process is asked to do. */
import { expect } from "vitest";
import { hasCode } from "../../src/domain/errors.ts";
import { keyLifetimeMs } from "./carriers.ts";
import { facts, orders, scopes, sent } from "./facts.ts";
import { rouse } from "./incidents.ts";
import { type Exchange, observe } from "./observe.ts";
import { act, decide, operate } from "./operate.ts";
import type { Process } from "./process.ts";
import { keyOf } from "./reference.ts";
import { leaseMs } from "./shop.ts";
import type { Deed, StepOf } from "./steps.ts";
import type { World } from "./world.ts";

export async function doDeed(process: Process, world: World, deed: Deed): Promise<void> {
  switch (deed.kind) {
    case "deliver":
      return deliver(
        world,
        deed.deliveries.map((one) => [process, one] as const),
      );
    case "redeliver":
      return redeliver(process, world, deed);
    case "race":
      return race(world, deed);
    case "pay":
      return pay(process, world, deed);
    case "doubt":
      return doubt(process, world, deed);
    case "overtake":
      return overtake(process, world, deed);
    case "spoil":
      return spoil(process, world, deed);
    case "line up":
      return lineUp(process, world, deed);
    case "place":
      return placeOrder(process, world, deed);
    case "cancel order":
      return cancelOrder(process, world, deed);
    case "owe again":
      return oweAgain(process, world, deed);
    case "work":
      return process.work();
    case "sleep":
      await process.workUntil(deed.until);
      return world.fallAsleep(process);
    case "crash":
      await process.workUntil(deed.until);
      return world.crash(process);
    case "operate":
      return operate(process, world, deed);
    case "decide":
      return decide(process, world, deed);
    case "resume":
      return resume(process, world);
    default:
      deed satisfies never;
  }
}

const hour = 3_600_000;

type Delivery = Parameters<typeof sent>[0] & { readonly forged: boolean };

/** Deliveries of one step come at once. */
export async function deliver(world: World, deliveries: readonly (readonly [Process, Delivery])[]): Promise<void> {
  const exchanges = deliveries.map(async ([process, delivery]): Promise<Exchange> => {
    const one = sent(delivery, delivery);
    return { sent: one, response: await process.post(one) };
  });
  const answered = await Promise.all(exchanges);
  await world.activity.quiet();
  observe(world, answered);
}

/** An event that is known comes again, or comes with other content. */
async function redeliver(process: Process, world: World, { nth, other }: StepOf<"redeliver">): Promise<void> {
  const known = [...world.reference.receipts.values()];
  const receipt = known[nth % known.length];
  if (!receipt) return;
  const { scope, fact } = receipt;
  const delivery = { scope: scopes.indexOf(scope), fact: facts.indexOf(fact), variant: other ? 2 : 0, forged: false };
  await deliver(world, [[process, delivery]]);
}

/** The same event comes to both processes at once: the database decides. */
async function race(world: World, { delivery }: StepOf<"race">): Promise<void> {
  // Of what a worker decides besides, nobody could say which came first.
  if (world.processes.some(({ asleep }) => asleep) || scopes[delivery.scope]?.isLater) return;
  await deliver(
    world,
    world.processes.map((process) => [process, delivery] as const),
  );
}

/** An order is placed and paid, so that something is owed; and the process gets so far with it. */
async function pay(process: Process, world: World, deed: StepOf<"pay">): Promise<void> {
  world.carriers.next.POST = [...deed.faults];
  await owe(process, world, deed);
  if (deed.afterwards === "sleeps") world.fallAsleep(process);
  if (deed.afterwards === "crashes") await world.crash(process);
}

/** A call whose outcome is not known, and what makes it hard to find out. */
async function doubt(process: Process, world: World, deed: StepOf<"doubt">): Promise<void> {
  world.carriers.next.POST = [deed.fault];
  await owe(process, world, { ...deed, until: "heard" });
  switch (deed.afterwards) {
    case "key dies":
      return world.machine.skip(keyLifetimeMs);
    case "clock back":
      return world.machine.stepWall(-hour);
    case "clock ahead":
      return world.machine.stepWall(hour);
    case "is asked about":
      return askAbout(process, world, deed);
    default:
      deed.afterwards satisfies never;
  }
}

/** An operator has the provider asked at once, which may be too soon to be told. */
async function askAbout(process: Process, world: World, { scope, payment }: StepOf<"doubt">): Promise<void> {
  const operationKey = `${orders[payment]!.id}/fulfil/v1`;
  const detail = await world.reader.obligation(scopes[scope]!.tenant ?? "", operationKey);
  if (detail) await act(process, world, { obligation: detail.obligation, verb: "lookup" });
  await process.work();
}

async function owe(
  process: Process,
  world: World,
  { scope, payment, until }: Pick<StepOf<"pay">, "scope" | "payment" | "until">,
): Promise<void> {
  await placeOrder(process, world, { tenant: scopes[scope]!.tenant, order: orders[payment]!.id });
  await deliver(world, [[process, { scope, fact: payment, variant: 0, forged: false }]]);
  await process.workUntil(until);
}

/** Leases end while their holder is stopped; another process takes note; then the holder goes on. */
async function overtake(process: Process, world: World, deed: StepOf<"overtake">): Promise<void> {
  if (world.processes.every(({ asleep }) => !asleep)) {
    await owe(process, world, deed);
    world.fallAsleep(process);
  }
  world.machine.skip(leaseMs);
  await world.awake(0)?.tick();
  await rouse(world, deed.first);
}

/** An event comes whose handler fails, together with one whose handler does not. */
async function spoil(process: Process, world: World, { delivery, how }: StepOf<"spoil">): Promise<void> {
  const { scope, eventId, fact } = sent(delivery);
  world.reference.spoiled.set(keyOf(scope, eventId), how);
  if (fact.type === "order.paid") await placeOrder(process, world, { tenant: scope.tenant, order: fact.order });
  const plain = { ...delivery, variant: 0, forged: false };
  await deliver(world, [
    [process, { ...plain, fact: (delivery.fact + 1) % facts.length }],
    [process, plain],
  ]);
}

/** Two events of one line come, of which the first waits for its order, or its handler fails. */
async function lineUp(process: Process, world: World, { payment, first }: StepOf<"line up">): Promise<void> {
  const scope = scopes.findIndex(({ isLater }) => isLater);
  const deliveries = [payment, payment + orders.length].map((fact) => ({ scope, fact, variant: 0, forged: false }));
  if (first === "fails") {
    world.reference.spoiled.set(keyOf(scopes[scope]!, `evt_${payment}`), "throws");
    await placeOrder(process, world, { tenant: scopes[scope]!.tenant, order: orders[payment]!.id });
  }
  await deliver(
    world,
    deliveries.map((delivery) => [process, delivery] as const),
  );
}

async function placeOrder(
  { app }: Process,
  { activity, reference }: World,
  { tenant, order }: { readonly tenant: string | null; readonly order: string },
): Promise<void> {
  if (tenant === null) return;
  const { carrier } = orders.find(({ id }) => id === order)!;
  await app.transaction({ tenant }, async ({ tx, arrived }) => {
    await tx.sql`
      INSERT INTO orders (tenant, id, carrier) VALUES (${tenant}, ${order}, ${carrier}) ON CONFLICT DO NOTHING`;
    await arrived("order", order);
  });
  // What waited for it is applied before anything else happens.
  await activity.quiet();
  reference.place(tenant, order);
}

async function cancelOrder({ app }: Process, { reference }: World, deed: StepOf<"cancel order">): Promise<void> {
  const { tenant, order } = deed;
  await app.transaction(
    { tenant },
    ({ tx }) => tx.sql`
      UPDATE orders SET status = 'cancelled'
      WHERE tenant = ${tenant} AND id = ${order} AND status = 'awaiting_payment'`,
  );
  reference.cancel(tenant, order);
}

/** The application owes what is owed already: the same is one with it, anything else is refused whole. */
async function oweAgain({ shop }: Process, { reference }: World, deed: StepOf<"owe again">): Promise<void> {
  const { tenant, order, other } = deed;
  const row = reference.orders.get(`${tenant}|${order}`);
  if (row?.status !== "paid") return;
  const owing = shop.app.transaction({ tenant }, async ({ tx, owe }) => {
    if (other) await tx.sql`UPDATE orders SET status = 'cancelled' WHERE tenant = ${tenant} AND id = ${order}`;
    const input = { order: other ? "order-0" : order, carrier: row.carrier };
    await owe(shop.byCarrier[row.carrier], { key: [order, "fulfil", "v1"], input });
  });
  const ended = await owing.then(
    () => "owed",
    (error: unknown) => (hasCode(error, "OPERATION_CONFLICT") ? "conflict" : error),
  );
  expect(ended, `owing ${order} of ${tenant} again`).toBe(other ? "conflict" : "owed");
}

async function resume({ app }: Process, { carriers }: World): Promise<void> {
  const operator = app.operator({ who: "ada" });
  for (const { url } of [carriers.keeping, carriers.ignoring]) await operator.resume({ destination: url });
}
