/**
 * What receiving must come to, said a second time and as plainly as possible. It imports nothing of the
 * product: events, orders and snapshots in maps, one event after the other.
 */
import { type Carrier, type Fact, lineOf, orders as catalogue, type Scope, type Sent } from "./facts.ts";

export type ModelOutcome =
  | "applied"
  | "stale"
  | "refused"
  | "ignored"
  | "resolved"
  | "queued"
  | "parked"
  | "held"
  | "conflict"
  | "quarantined";

export interface ModelReceipt {
  readonly scope: Scope;
  readonly eventId: string;
  readonly fact: Fact;
  readonly body: string;
  outcome: ModelOutcome;
  deliveries: number;
  /** It came behind another of its line. */
  readonly stood: boolean;
  /** Other contents that came under the same id, until an operator acknowledges them. */
  readonly open: Set<string>;
  readonly acknowledged: Set<string>;
}

export interface ModelOrder {
  readonly carrier: Carrier;
  status: "awaiting_payment" | "paid" | "cancelled";
}

export interface ModelSnapshot {
  readonly revision: number;
  readonly email: string | null;
}

/** How a handler fails: by throwing after its work, or by breaking the transaction it is in. */
export type Spoil = "throws" | "breaks";

/** What a sender is told. */
export interface Told {
  readonly status: number;
  readonly body?: {
    readonly outcome: ModelOutcome | "duplicate";
    readonly event: string;
    readonly first?: ModelOutcome;
    readonly mismatch?: true;
  };
}

export const finalOutcomes: readonly ModelOutcome[] = ["applied", "stale", "refused", "ignored", "resolved"];

/** Outcomes in which an event keeps those behind it waiting. */
const lineKeeping: readonly ModelOutcome[] = ["queued", "parked", "held", "conflict"];

export class Reference {
  readonly receipts: Map<string, ModelReceipt> = new Map();
  readonly orders: Map<string, ModelOrder> = new Map();
  readonly snapshots: Map<string, ModelSnapshot> = new Map();
  /** Handlers that fail for now, by event. Shared with the application under test. */
  readonly spoiled: Map<string, Spoil> = new Map();

  /** Takes a delivery and says what its sender must be told. */
  deliver({ scope, eventId, fact, body, forged }: Sent): Told {
    if (forged) return { status: 401 };
    const key = keyOf(scope, eventId);
    const known = this.receipts.get(key);
    if (known) return redelivered(known, body);
    const receipt: ModelReceipt = {
      scope,
      eventId,
      fact,
      body,
      outcome: "applied",
      deliveries: 1,
      stood: this.inFront({ scope, eventId, fact }) !== undefined,
      open: new Set(),
      acknowledged: new Set(),
    };
    const waits = scope.isLater && fact.type !== "weather.changed";
    receipt.outcome = waits ? "queued" : this.#decide(receipt, false);
    if (receipt.outcome === "held" && scope.failing === "refuse") return { status: 500 };
    this.receipts.set(key, receipt);
    return { status: statusOf(receipt.outcome), body: { outcome: receipt.outcome, event: eventId } };
  }

  /** Runs a stored event's handler again; `take` lets its snapshot win a tie. */
  rerun(receipt: ModelReceipt, { take }: { readonly take: boolean }): void {
    const outcome = this.#decide(receipt, take);
    // What was applied once and is turned away now stays applied.
    const isTurnedAway = outcome === "refused" || outcome === "stale";
    if (receipt.outcome !== "applied" || !isTurnedAway) receipt.outcome = outcome;
  }

  /** What has to be decided before this one: an earlier event of its line that is open. */
  inFront({ scope, eventId, fact }: Pick<ModelReceipt, "scope" | "eventId" | "fact">): string | undefined {
    const line = scope.isLater ? lineOf(fact) : null;
    if (line === null) return undefined;
    for (const other of this.receipts.values()) {
      if (other.scope !== scope) continue;
      if (other.eventId === eventId) return undefined;
      if (lineOf(other.fact) === line && lineKeeping.includes(other.outcome)) return other.eventId;
    }
    return undefined;
  }

  /** The orders that are paid, each of which owes its parcel. */
  owed(): readonly { readonly tenant: string; readonly order: string; readonly carrier: Carrier }[] {
    return [...this.orders].flatMap(([key, { status, carrier }]) => {
      const [tenant = "", order = ""] = key.split("|");
      return status === "paid" ? [{ tenant, order, carrier }] : [];
    });
  }

  place(tenant: string, order: string): void {
    const key = `${tenant}|${order}`;
    const { carrier } = catalogue.find(({ id }) => id === order)!;
    if (!this.orders.has(key)) this.orders.set(key, { carrier, status: "awaiting_payment" });
  }

  cancel(tenant: string, order: string): void {
    const row = this.orders.get(`${tenant}|${order}`);
    if (row?.status === "awaiting_payment") row.status = "cancelled";
  }

  #decide({ scope, eventId, fact }: ModelReceipt, take: boolean): ModelOutcome {
    if (scope.tenant === null) return "quarantined";
    const [outcome, keep] = this.#handle(scope, fact, take);
    if (outcome !== "applied" && outcome !== "stale") return outcome;
    if (this.spoiled.has(keyOf(scope, eventId))) return "held";
    keep();
    return outcome;
  }

  /** The outcome of a handler's run, and its work, which is kept only if it does not fail afterwards. */
  #handle(scope: Scope, fact: Fact, take: boolean): readonly [ModelOutcome, () => void] {
    const nothing = (): void => undefined;
    switch (fact.type) {
      case "weather.changed":
        return ["ignored", nothing];
      case "order.paid": {
        const order = this.orders.get(`${scope.tenant}|${fact.order}`);
        if (!order) return ["parked", nothing];
        return order.status === "awaiting_payment"
          ? ["applied", () => void (order.status = "paid")]
          : ["refused", nothing];
      }
      case "customer.changed": {
        const { customer, revision, email } = fact;
        const key = snapshotKey(scope, customer);
        const kept = this.snapshots.get(key);
        const write = (): void => void this.snapshots.set(key, { revision, email });
        if (!kept || revision > kept.revision) return ["applied", write];
        if (revision < kept.revision) return ["stale", nothing];
        if (email === kept.email) return ["applied", nothing];
        return take ? ["applied", write] : ["conflict", nothing];
      }
      default:
        throw new Error(`Bug: no handler for ${JSON.stringify(fact satisfies never)}`);
    }
  }
}

function redelivered(known: ModelReceipt, body: string): Told {
  known.deliveries += 1;
  const mismatch = body !== known.body;
  if (mismatch && !known.acknowledged.has(body)) known.open.add(body);
  return {
    status: mismatch ? 202 : statusOf(known.outcome),
    body: {
      outcome: "duplicate",
      event: known.eventId,
      first: known.outcome,
      ...(mismatch && { mismatch }),
    },
  };
}

function statusOf(outcome: ModelOutcome): number {
  return finalOutcomes.includes(outcome) ? 200 : 202;
}

export function keyOf({ connection, account }: Pick<Scope, "connection" | "account">, eventId: string): string {
  return `${connection}|${account}|${eventId}`;
}

export function snapshotKey({ connection, account }: Pick<Scope, "connection" | "account">, customer: string): string {
  return `${connection}|${account}|${customer}`;
}
