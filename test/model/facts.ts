/** What senders may say: a small catalogue, so that random deliveries meet each other. */
import { createHmac } from "node:crypto";

/** Whose event it is. The first two share a connection, others a tenant; all use the same ids. */
export interface Scope {
  readonly connection: string;
  readonly account: string;
  readonly tenant: string | null;
  /** What becomes of an event whose handler fails. */
  readonly failing: "hold" | "refuse";
  /** It is kept and left to a worker, and stands in the line of what it is about. */
  readonly isLater?: true;
}

export const scopes: readonly Scope[] = [
  { connection: "market", account: "acct_north", tenant: "north", failing: "hold" },
  { connection: "market", account: "acct_south", tenant: "south", failing: "hold" },
  { connection: "direct", account: "", tenant: "north", failing: "refuse" },
  { connection: "later", account: "", tenant: "south", failing: "hold", isLater: true },
  { connection: "market", account: "acct_nobody", tenant: null, failing: "hold" },
];

export const tenants = ["north", "south"] as const;

/** How an order's parcel is sent: each stands for one kind of promise that a provider may make. */
export type Carrier = "keeps_keys" | "ignores_keys" | "cannot_be_asked";

const carriers: readonly Carrier[] = ["keeps_keys", "ignores_keys", "keeps_keys", "ignores_keys", "cannot_be_asked"];

export const orders: readonly { readonly id: string; readonly carrier: Carrier }[] = [...carriers, ...carriers].map(
  (carrier, index) => ({ id: `order-${index + 1}`, carrier }),
);

export const customers = ["customer-1", "customer-2"] as const;

export type Fact =
  | { readonly type: "order.paid"; readonly order: string }
  /** `email` is `null` for a deletion. */
  | {
      readonly type: "customer.changed";
      readonly customer: string;
      readonly revision: number;
      readonly email: string | null;
    }
  | { readonly type: "weather.changed" };

/** Two payments of each order: the second is another event about the same fact. */
const payments = [...orders, ...orders].map(({ id }): Fact => ({ type: "order.paid", order: id }));

/** Each revision comes three times: twice with equal content, once with another, of which one is a deletion. */
const changes = customers.flatMap((customer) =>
  [1, 2, 3].flatMap((revision) =>
    ["ann@canary.example", "ann@canary.example", revision === 3 ? null : "bob@canary.example"].map((email): Fact => ({
      type: "customer.changed",
      customer,
      revision,
      email,
    })),
  ),
);

/** The line that an event about it stands in, where its connection keeps lines. */
export function lineOf(fact: Fact): string | null {
  if (fact.type === "weather.changed") return null;
  return fact.type === "order.paid" ? fact.order : fact.customer;
}

/** The catalogue; an event's id is its place in it. */
export const facts: readonly Fact[] = [...payments, ...changes, { type: "weather.changed" }];

/** One delivery on its way. */
export interface Sent {
  readonly scope: Scope;
  readonly eventId: string;
  readonly fact: Fact;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly forged: boolean;
}

export const signingSecret = "whsec_canary_of_the_model_test";

/** Makes a delivery; another variant is other content under the same id. */
export function sent(
  { scope, fact, variant }: { readonly scope: number; readonly fact: number; readonly variant: number },
  { forged = false }: { readonly forged?: boolean } = {},
): Sent {
  const from = scopes[scope]!;
  const { account } = from;
  const { type, ...data } = facts[fact]!;
  const eventId = `evt_${fact}`;
  const body = JSON.stringify({ id: eventId, type, ...(account && { account }), data, note: `canary ${variant}` });
  const secret = forged ? "whsec_guessed" : signingSecret;
  const signature = createHmac("sha256", secret).update(body).digest("hex");
  return {
    scope: from,
    eventId,
    fact: facts[fact]!,
    body,
    headers: { "content-type": "application/json", "x-signature": `sha256=${signature}` },
    forged,
  };
}
