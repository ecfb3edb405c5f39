/**
 * What the events that were kept must come to, in whatever order they were applied, said a second time
 * and as plainly as possible. Imports nothing of the product.
 */
import type { Fact, Shop } from "./facts.ts";

/** An event with a receipt: the content that was kept, and what became of it. */
export interface Kept {
  readonly shop: Shop;
  readonly id: string;
  readonly fact: Fact;
  readonly outcome: string;
}

export interface ExpectedOrder {
  readonly status: "placed" | "paid";
  readonly items: number;
  readonly total: number;
}

/** Where it is not for the model to say who was first, all that may have been. */
export interface Expected {
  /** By `shop/order`. */
  readonly orders: ReadonlyMap<string, ExpectedOrder>;
  /** By `shop/item`: the newest revision, and what it may say. */
  readonly stock: ReadonlyMap<string, { readonly revision: number; readonly levels: ReadonlySet<number> }>;
  /** By `shop/operation key`: the amounts that may be owed, or none where there is no amount to it. */
  readonly owed: ReadonlyMap<string, ReadonlySet<number>>;
  /** Events that wait for an order that nobody placed. */
  readonly waiting: number;
  /** Outcomes that cannot be. */
  readonly problems: readonly string[];
}

export function expectedOf(kept: readonly Kept[]): Expected {
  const orders = new Map<string, ExpectedOrder>();
  const stock = new Map<string, { revision: number; levels: ReadonlySet<number> }>();
  const owed = new Map<string, ReadonlySet<number>>();
  const problems: string[] = [];
  let waiting = 0;
  for (const [key, events] of Map.groupBy(kept, keyOf)) {
    if (events[0]?.fact.type === "stock.counted") {
      stock.set(key, newestOf(events));
      problems.push(...stockProblems(events, newestOf(events)));
      continue;
    }
    const placed = of(events, "order.placed");
    if (placed.length === 0) {
      waiting += events.length;
      problems.push(...unlike(events, { parked: events.length }));
      continue;
    }
    const [added, paid, asked] = [of(events, "item.added"), of(events, "order.paid"), of(events, "invoice.asked")];
    orders.set(key, {
      status: paid.length > 0 ? "paid" : "placed",
      items: added.length,
      total: added.reduce((sum, { fact }) => sum + amountOf(fact), 0),
    });
    if (paid.length > 0) owed.set(`${key}/fulfil/v1`, new Set());
    if (asked.length > 0) owed.set(`${key}/invoice/v1`, amountsOf(asked));
    problems.push(
      ...unlike([...placed, ...added], { applied: placed.length + added.length }),
      ...unlike(paid, { applied: Math.min(paid.length, 1), refused: Math.max(paid.length - 1, 0) }),
      ...invoiceProblems(asked),
    );
  }
  return { orders, stock, owed, waiting, problems };
}

function keyOf({ shop, fact }: Kept): string {
  return `${shop}/${"order" in fact ? fact.order : fact.item}`;
}

function of(events: readonly Kept[], type: Fact["type"]): readonly Kept[] {
  return events.filter(({ fact }) => fact.type === type);
}

function amountOf(fact: Fact): number {
  return "amount" in fact ? fact.amount : 0;
}

function amountsOf(events: readonly Kept[]): ReadonlySet<number> {
  return new Set(events.map(({ fact }) => amountOf(fact)));
}

/** Outcomes other than these, each so many times. */
function unlike(events: readonly Kept[], counts: Readonly<Record<string, number>>): readonly string[] {
  const found = Map.groupBy(events, ({ outcome }) => outcome);
  const names = new Set([...found.keys(), ...Object.keys(counts)]);
  const differ = [...names].some((name) => (found.get(name)?.length ?? 0) !== (counts[name] ?? 0));
  return differ ? [`${named(events)}: must be ${JSON.stringify(counts)}`] : [];
}

function named(events: readonly Kept[]): string {
  return events.map(({ shop, id, fact, outcome }) => `${shop} ${id} ${fact.type} ${outcome}`).join(", ");
}

/** One amount is applied, as often as it came, and every other is in conflict with it. */
function invoiceProblems(asked: readonly Kept[]): readonly string[] {
  const applied = amountsOf(asked.filter(({ outcome }) => outcome === "applied"));
  if (asked.length > 0 && applied.size !== 1) return [`${named(asked)}: one amount must be applied`];
  return asked.flatMap((event) => unlike([event], { [applied.has(amountOf(event.fact)) ? "applied" : "conflict"]: 1 }));
}

function counted({ fact }: Kept): { readonly revision: number; readonly level: number } {
  return fact.type === "stock.counted" ? fact : { revision: 0, level: 0 };
}

function newestOf(events: readonly Kept[]): { readonly revision: number; readonly levels: ReadonlySet<number> } {
  const revision = Math.max(...events.map((event) => counted(event).revision));
  const newest = events.filter((event) => counted(event).revision === revision);
  return { revision, levels: new Set(newest.map((event) => counted(event).level)) };
}

/**
 * Of a revision one content at most is applied, of the newest one exactly. What came after a newer
 * revision is stale, and what came after its own revision with another content is in conflict.
 */
function stockProblems(events: readonly Kept[], newest: { readonly revision: number }): readonly string[] {
  return [...Map.groupBy(events, (event) => counted(event).revision)].flatMap(([revision, group]) => {
    const contents = new Set(group.map((event) => counted(event).level));
    const applied = new Set(group.filter(({ outcome }) => outcome === "applied").map((event) => counted(event).level));
    const allowed = [
      "applied",
      ...(contents.size > 1 ? ["conflict"] : []),
      ...(revision < newest.revision ? ["stale"] : []),
    ];
    const strange = group.some(({ outcome }) => !allowed.includes(outcome));
    const tooFew = revision === newest.revision && applied.size === 0;
    const torn = group.some((event) => event.outcome === "conflict" && applied.has(counted(event).level));
    return strange || tooFew || torn || applied.size > 1 ? [`${named(group)}: revision ${revision} cannot end so`] : [];
  });
}
