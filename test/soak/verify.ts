/** Holds what was kept and done against what the reference says, and says every difference. */
import type { FakeProvider } from "counterfoil/testing";
import type { Ledger } from "./books.ts";
import type { Delivery } from "./facts.ts";
import { type Expected, expectedOf } from "./reference.ts";
import { nameOf, type Senders } from "./senders.ts";

export interface VerifyOptions {
  readonly ledger: Ledger;
  readonly deliveries: readonly Delivery[];
  readonly senders: Senders;
  /** Their effects are told apart by their `ref`, which is tenant and operation key. */
  readonly providers: readonly FakeProvider[];
}

export interface Verified {
  readonly receipts: number;
  readonly obligations: number;
  readonly effects: number;
  /** Obligations that took effect more than once, by `shop/operation key`. */
  readonly doubled: readonly string[];
  readonly problems: readonly string[];
}

export async function verify({ ledger, deliveries, senders, providers }: VerifyOptions): Promise<Verified> {
  const kept = await ledger.kept();
  const expected = expectedOf(kept);
  const obligations = await ledger.obligations();
  const counts = new Map(providers.flatMap((provider) => Object.entries(provider.counts().byRef)));
  const doubled = [...counts].filter(([, times]) => times.effects > 1).map(([ref]) => ref);
  const problems = [
    ...senders.problems,
    ...expected.problems,
    ...receiptProblems(kept, deliveries, senders),
    ...mismatchProblems(await ledger.mismatched(), senders),
    ...(await stateProblems(ledger, expected)),
    ...owedProblems(obligations, expected),
    ...effectProblems(obligations, counts),
    ...(await settledProblems(ledger, providers)),
  ];
  const effects = providers.reduce((sum, provider) => sum + provider.effects.length, 0);
  return { receipts: kept.length, obligations: obligations.size, effects, doubled, problems };
}

type Kept = Awaited<ReturnType<Ledger["kept"]>>;
type Obligations = Awaited<ReturnType<Ledger["obligations"]>>;

/** One receipt for each event, none of what nobody sent, and every acknowledged one is there, byte for byte. */
function receiptProblems(kept: Kept, deliveries: readonly Delivery[], { known }: Senders): readonly string[] {
  const sent = Map.groupBy(deliveries, nameOf);
  const names = new Set(kept.map(nameOf));
  const twice = kept.length - names.size;
  return [
    ...(twice > 0 ? [`${twice} events have more than one receipt`] : []),
    ...[...known].filter((name) => !names.has(name)).map((name) => `${name} was acknowledged and is lost`),
    ...kept
      .filter((event) => !sent.get(nameOf(event))?.some(({ body }) => body === event.body))
      .map((event) => `${nameOf(event)} is kept with bytes that nobody sent`),
  ];
}

function mismatchProblems(kept: ReadonlySet<string>, { mismatched }: Senders): readonly string[] {
  const untold = [...mismatched].filter((name) => !kept.has(name));
  return untold.map((name) => `${name} was said to have another content, which is not kept`);
}

async function stateProblems(ledger: Ledger, expected: Expected): Promise<readonly string[]> {
  const orders = await ledger.orders();
  const problems: string[] = [];
  for (const [key, order] of expected.orders) {
    const found = orders.get(key);
    const same = found?.status === order.status && found.items === order.items && found.total === order.total;
    if (!same) problems.push(`order ${key} is ${JSON.stringify(found)}, must be ${JSON.stringify(order)}`);
  }
  if (orders.size !== expected.orders.size) problems.push(`${orders.size} orders, must be ${expected.orders.size}`);
  const stock = await ledger.stock();
  for (const [key, { revision, levels }] of expected.stock) {
    const found = stock.get(key);
    const same = found?.revision === revision && levels.has(found.level) && found.kept === found.level;
    const must = `${revision}: ${[...levels].join(" or ")}`;
    if (!same) problems.push(`stock ${key} is ${JSON.stringify(found)}, must be ${must}`);
  }
  if (stock.size !== expected.stock.size) problems.push(`${stock.size} in stock, must be ${expected.stock.size}`);
  return problems;
}

function owedProblems(obligations: Obligations, { owed }: Expected): readonly string[] {
  const unknown = [...obligations.keys()].filter((key) => !owed.has(key));
  return [
    ...unknown.map((key) => `${key} is owed, and nothing says that it is`),
    ...[...owed].flatMap(([key, amounts]) => {
      const found = obligations.get(key);
      if (found === undefined) return [`${key} is not owed`];
      if (amounts.size > 0 && !amounts.has(found.amount ?? 0)) return [`${key} is owed for ${found.amount}`];
      return found.state === "done" ? [] : [`${key} is not done`];
    }),
  ];
}

/** What is owed happened, and nothing else did. */
function effectProblems(
  obligations: Obligations,
  counts: ReadonlyMap<string, { readonly effects: number }>,
): readonly string[] {
  const unowed = [...counts.keys()].filter((ref) => !obligations.has(ref));
  const undone = [...obligations.keys()].filter((key) => (counts.get(key)?.effects ?? 0) === 0);
  return [
    ...unowed.map((ref) => `${ref} was asked for, and is not owed`),
    ...undone.map((key) => `${key} did not take effect`),
  ];
}

/** The answer to each shipment stands with its order, written once. */
async function settledProblems(ledger: Ledger, providers: readonly FakeProvider[]): Promise<readonly string[]> {
  const shipments = Map.groupBy(
    providers.flatMap(({ effects }) => effects),
    ({ ref }) => ref,
  );
  return [...(await ledger.orders())].flatMap(([key, { status, tracking, settled }]) => {
    // One that was booked twice has either number.
    const numbers: (string | null)[] = shipments.get(`${key}/fulfil/v1`)?.map(({ id }) => id) ?? [null];
    const times = status === "paid" ? 1 : 0;
    if (numbers.includes(tracking) && settled === times) return [];
    return [
      `order ${key} has tracking ${tracking}, written ${settled} times; must be ${numbers.join(" or ")}, ${times} times`,
    ];
  });
}
