/** Compares what arrived, was applied, owed and done with what really happened at the carriers. */
import type { App } from "counterfoil";
import type { FakeProvider } from "counterfoil/testing";
import type { DemoDelivery, DemoOrder } from "./demo-events.ts";

export interface Day {
  readonly carrier: FakeProvider;
  readonly courier: FakeProvider;
  readonly orders: readonly DemoOrder[];
  readonly deliveries: readonly DemoDelivery[];
  readonly answers: ReadonlyMap<string, number>;
}

export interface Books {
  readonly rows: readonly (readonly [string, string | number])[];
  readonly checks: readonly { readonly claim: string; readonly holds: boolean }[];
}

export async function bookkeeping(app: App, day: Day): Promise<Books> {
  const { receipts, obligations, deliveries, mismatches } = await app.operator({ who: "demo" }).status();
  const { orders, carrier, courier } = day;
  const toShip = orders.filter(({ refundedFirst }) => !refundedFirst);
  const paid = await app.transaction(
    { tenant: "acme" },
    ({ tx }) => tx.sql<{ id: string; tracking: string | null }>`SELECT id, tracking FROM orders WHERE status = 'paid'`,
  );
  const forged = day.deliveries.filter(({ kind }) => kind === "forged").length;
  const counts = [carrier.counts(), courier.counts()] as const;
  const perParcel = counts.flatMap(({ byRef }) => Object.values(byRef).map(({ effects }) => effects));
  return {
    rows: [
      ["deliveries sent", day.deliveries.length + orders.length - toShip.length],
      ["  refused as forged", day.answers.get("401") ?? 0],
      ["  recorded", deliveries],
      ["  of them with other content", mismatches],
      ["events applied", receipts.applied ?? 0],
      ["events refused by a guard", receipts.refused ?? 0],
      ["orders to ship", toShip.length],
      ["obligations done", obligations.done ?? 0],
      ["carrier that keeps keys: requests / effects", `${counts[0].requests} / ${counts[0].effects}`],
      [
        "courier that ignores keys: requests / lookups / effects",
        `${counts[1].requests} / ${counts[1].lookups} / ${counts[1].effects}`,
      ],
    ],
    checks: [
      { claim: "every forged delivery was refused and left nothing", holds: (day.answers.get("401") ?? 0) === forged },
      {
        claim: "every order that was paid and not refunded owes one shipment",
        holds: paid.length === toShip.length && obligations.done === toShip.length,
      },
      {
        claim: "every shipment happened once, also through lost answers and a killed worker",
        holds: perParcel.length === toShip.length && perParcel.every((effects) => effects === 1),
      },
      { claim: "every shipped order has its tracking number", holds: paid.every(({ tracking }) => tracking !== null) },
    ],
  };
}

/** Prints the books; gives whether every promise held. */
export function printBooks({ rows, checks }: Books): boolean {
  const width = Math.max(...rows.map(([name]) => name.length));
  console.log();
  for (const [name, value] of rows) console.log(`${name.padEnd(width)}  ${String(value).padStart(12)}`);
  console.log();
  for (const { claim, holds } of checks) console.log(`${holds ? "held  " : "BROKEN"}  ${claim}`);
  return checks.every(({ holds }) => holds);
}
