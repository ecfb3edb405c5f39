/** What senders tell in a soak, and in which order: plain data, made from a seed, that knows nothing of the product. */

export type Fact =
  | { readonly type: "order.placed"; readonly order: string }
  | { readonly type: "order.paid"; readonly order: string }
  | { readonly type: "item.added"; readonly order: string; readonly amount: number }
  /** Two amounts for one order cannot both be right. */
  | { readonly type: "invoice.asked"; readonly order: string; readonly amount: number }
  | { readonly type: "stock.counted"; readonly item: string; readonly revision: number; readonly level: number };

/** Each is a connection and a tenant of that name; both use the same ids. */
export const shops = ["north", "south"] as const;
export type Shop = (typeof shops)[number];

/** An event as its sender tells it. */
export interface Message {
  readonly shop: Shop;
  readonly id: string;
  readonly body: string;
}

export interface Delivery extends Message {
  /** A sender that gives up after its first try: the event may be kept or not. */
  readonly forgetful: boolean;
}

export interface Chance {
  readonly below: (bound: number) => number;
  readonly pick: <T>(items: readonly T[]) => T;
}

/** The first orders of each shop: every fifth event is about one of them. */
const hotOrders = 16;
const stockItems = 12;
/** How far from its place an event may come: children overtake their parents. */
const disorder = 200;
const copiesPercent = 30;

/** So many deliveries, three in ten of them copies, a few of those with other content. */
export function planDeliveries(count: number, chance: Chance): readonly Delivery[] {
  const facts = makeFacts(count - Math.floor((count * copiesPercent) / 100), chance);
  const counters = { north: 0, south: 0 };
  const messages = facts.map(({ shop, fact }) => messageOf(shop, `evt-${(counters[shop] += 1)}`, fact));
  const placed = messages.map((message, index) => {
    return { at: index + chance.below(disorder), delivery: { ...message, forgetful: chance.below(100) === 0 } };
  });
  while (placed.length < count) {
    const { at, delivery } = chance.pick(placed);
    const later = chance.below(3) === 0 ? chance.below(messages.length) : chance.below(20) - 5;
    placed.push({ at: at + later, delivery: copyOf(delivery, chance) });
  }
  return placed.toSorted((left, right) => left.at - right.at).map(({ delivery }) => delivery);
}

function copyOf({ shop, id, body }: Delivery, chance: Chance): Delivery {
  const message = { shop, id, body };
  const { data, type } = JSON.parse(body) as { type: string; data: object };
  const isAltered = "amount" in data && chance.below(20) === 0;
  return {
    ...(isAltered
      ? messageOf(shop, id, { ...data, type, amount: 1_000 + chance.below(9) } as unknown as Fact)
      : message),
    forgetful: chance.below(50) === 0,
  };
}

/** The bytes that tell a fact. */
export function messageOf(shop: Shop, id: string, { type, ...data }: Fact): Message {
  return { shop, id, body: JSON.stringify({ id, type, data }) };
}

/** The fact in a body that was kept. */
export function factOf(body: string): Fact {
  const { type, data } = JSON.parse(body) as { type: string; data: object };
  return { ...data, type } as Fact;
}

interface Told {
  readonly shop: Shop;
  readonly fact: Fact;
}

function makeFacts(count: number, chance: Chance): readonly Told[] {
  const facts: Told[] = [];
  const revisions = new Map<string, number>();
  for (let number = 1; facts.length < count; number += 1) {
    for (const shop of shops) {
      const order = `order-${number}`;
      for (const fact of [...ofOrder(order, chance), ...ofStock(shop, revisions, chance)]) facts.push({ shop, fact });
      facts.push({ shop, fact: added(`order-${1 + chance.below(hotOrders / 2)}`, chance) });
    }
  }
  return facts.slice(0, count);
}

function ofOrder(order: string, chance: Chance): readonly Fact[] {
  const facts: Fact[] = [{ type: "order.placed", order }, { type: "order.paid", order }, added(order, chance)];
  if (chance.below(3) === 0) facts.push({ type: "order.paid", order });
  const asked = Math.max(chance.below(4) - 1, 0);
  const amounts = Array.from({ length: asked }, () => 1 + chance.below(2));
  return [...facts, ...amounts.map((amount): Fact => ({ type: "invoice.asked", order, amount }))];
}

function added(order: string, chance: Chance): Fact {
  return { type: "item.added", order, amount: 1 + chance.below(9) };
}

/** One in four comes under a revision that was told before, with the same content or another. */
function ofStock(shop: Shop, revisions: Map<string, number>, chance: Chance): readonly Fact[] {
  const item = `item-${1 + chance.below(stockItems)}`;
  const last = revisions.get(`${shop}/${item}`) ?? 0;
  const revision = last > 0 && chance.below(4) === 0 ? last : last + 1;
  revisions.set(`${shop}/${item}`, revision);
  return [{ type: "stock.counted", item, revision, level: revision * 10 + chance.below(2) }];
}
