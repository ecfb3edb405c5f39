/** Late, doubled and racing news of one order: only listed moves happen, each once, and each owes once. */
import { type App, connect, effect, transitions, type } from "counterfoil";
import { describe, expect, test } from "vitest";
import type { WorkContext } from "../../src/domain/handler.ts";
import { caseSecret, type CaseServer, sender, signedEvent, startCase } from "../support/case-server.ts";

const states = ["awaiting", "paid", "shipped", "refunded", "cancelled", "failed"] as const;
type Status = (typeof states)[number];

/** For each state, the states it may be entered from. */
const from: Readonly<Record<Status, readonly Status[]>> = {
  awaiting: [],
  paid: ["awaiting", "failed"],
  shipped: ["paid"],
  refunded: ["awaiting", "paid", "shipped"],
  cancelled: ["awaiting", "failed"],
  failed: ["awaiting"],
};
const status = transitions<Status>({ table: "orders", key: ["tenant", "id"], column: "status", from });

const act = effect("act/v1", {
  input: type<{ order: string; what: string }>(),
  request: ({ input }) => ({ method: "POST", url: "https://shop.example/v1/acts", json: input }),
  idempotency: "none",
});

/** The one way into a state, for webhooks and for the shop's own requests; gives the state that stood in its way. */
async function move({ tx, owe }: WorkContext, order: string, to: Status): Promise<Status | undefined | "moved"> {
  const step = await status.move(tx, ["acme", order], to);
  if (step.moved) {
    await owe(act, { key: [order, to, "v1"], input: { order, what: to } });
    return "moved";
  }
  // Money for an order that is not for sale any more is owed back: a move of its own.
  if (to === "paid" && step.current === "cancelled") {
    await owe(act, { key: [order, "give-back", "v1"], input: { order, what: "give-back" } });
    return "moved";
  }
  return step.current;
}

const handlers = states.map((to) =>
  sender.on(to, async (context) => {
    const { order } = context.event.data as { readonly order: string };
    const met = await move(context, order, to);
    if (met === undefined) return context.waitFor("order", order);
    if (met !== "moved") return context.refuse(`order is ${met}`);
  }),
);

function shop(): Promise<CaseServer> {
  return startCase({
    connections: [connect("sender", { provider: sender, secrets: [caseSecret], tenant: "acme", handlers })],
    effects: [act],
    tables: ["CREATE TABLE orders (tenant TEXT, id TEXT, status TEXT, PRIMARY KEY (tenant, id))"],
  });
}

async function place(app: App, order: string, at: Status = "awaiting"): Promise<void> {
  await app.transaction({ tenant: "acme" }, async ({ tx, arrived }) => {
    await tx.sql`INSERT INTO orders VALUES ('acme', ${order}, ${at})`;
    await arrived("order", order);
  });
}

const news = (id: string, order: string, type: Status) => signedEvent(id, { order }, { type });
const request = (app: App, order: string, to: Status) =>
  app.transaction({ tenant: "acme" }, (context) => move(context, order, to));

async function statusOf({ rows }: CaseServer, order: string): Promise<unknown> {
  return ((await rows(`SELECT status FROM orders WHERE id = '${order}'`))[0] as { readonly status: Status }).status;
}

test("of every state and every event, twice each, exactly the listed moves happen and owe, once", async () => {
  const server = await shop();
  const pairs = states.flatMap((at) => states.map((to) => [at, to] as const));
  const owed: string[] = [];
  for (const [at, to] of pairs) {
    const order = `${at}-${to}`;
    await place(server.app, order, at);
    const answers = [
      await server.post(news(`${order}-1`, order, to)),
      await server.post(news(`${order}-2`, order, to)),
    ];
    const listed = from[to].includes(at);
    const givesBack = at === "cancelled" && to === "paid";
    expect(
      answers.map(({ outcome }) => outcome),
      order,
    ).toEqual(givesBack ? ["applied", "applied"] : [listed ? "applied" : "refused", "refused"]);
    expect(await statusOf(server, order), order).toBe(listed ? to : at);
    if (listed) owed.push(`acme/${order}/${to}/v1`);
    if (givesBack) owed.push(`acme/${order}/give-back/v1`);
  }
  expect(await server.owed()).toEqual(owed.toSorted());
  const [refused] = await server.app.operator({ who: "test" }).receipts({ outcome: "refused" });
  expect(refused?.reason).toBe("order is failed");
});

describe("the shop's own request and the webhook at the same time", () => {
  test("go through one guard: one wins, one is told the state, and one shipment is owed", async () => {
    const server = await shop();
    for (let round = 0; round < 20; round += 1) {
      const order = `order-${round}`;
      await place(server.app, order);
      const webhook = () => server.post(news(`evt-${round}`, order, "paid"));
      const own = () => request(server.app, order, "paid");
      // Each side is begun first in half of the rounds.
      const begun = round % 2 === 0 ? [webhook(), own()] : [own(), webhook()].toReversed();
      const [told, met] = await Promise.all(begun);
      if (met === "moved") expect(told).toMatchObject({ status: 200, outcome: "refused" });
      else expect([met, told]).toMatchObject(["paid", { status: 200, outcome: "applied" }]);
      expect(await statusOf(server, order)).toBe("paid");
    }
    expect(await server.owed()).toHaveLength(20);
  });

  test("of which one cancels and one brings money end with money owed back or an order to ship, never both or neither", async () => {
    const server = await shop();
    const ends: string[] = [];
    for (let round = 0; round < 20; round += 1) {
      const order = `order-${round}`;
      await place(server.app, order);
      const both = [
        () => server.post(news(`evt-${round}`, order, "paid")),
        () => request(server.app, order, "cancelled"),
        () => server.post(news(`copy-${round}`, order, "paid")),
      ];
      await Promise.all((round % 2 === 0 ? both : both.toReversed()).map((send) => send()));
      const owed = (await server.owed())
        .filter((key) => key.startsWith(`acme/${order}/`))
        .map((key) => key.split("/")[2]);
      ends.push(`${String(await statusOf(server, order))}: ${owed.join(", ")}`);
    }
    const right = ["cancelled: cancelled, give-back", "paid: paid"];
    expect(ends.filter((end) => !right.includes(end))).toEqual([]);
  });
});

describe("money for an order that was cancelled", () => {
  test("is owed back once, however often and under however many ids it is told", async () => {
    const server = await shop();
    await place(server.app, "o");
    await request(server.app, "o", "cancelled");
    const told = ["evt-1", "evt-2", "evt-1"].map((id) => server.post(news(id, "o", "paid")));
    expect((await Promise.all(told)).every(({ status: code }) => code === 200)).toBe(true);
    expect(await statusOf(server, "o")).toBe("cancelled");
    expect(await server.owed()).toEqual(["acme/o/cancelled/v1", "acme/o/give-back/v1"]);
  });
});

test("a refund and its payment end the same in either order, and what was refunded is not shipped", async () => {
  const server = await shop();
  for (const [order, types] of [
    ["a", ["paid", "refunded"]],
    ["b", ["refunded", "paid"]],
  ] as const) {
    await place(server.app, order);
    for (const to of types) await server.post(news(`${order}-${to}`, order, to));
    await server.post(news(`${order}-shipped`, order, "shipped"));
    expect(await statusOf(server, order)).toBe("refunded");
  }
  expect(await server.owed()).toEqual(["acme/a/paid/v1", "acme/a/refunded/v1", "acme/b/refunded/v1"]);
});

test("a refund of a payment that nobody knows waits, is shown, and is applied when its order is there", async () => {
  const server = await shop();
  expect(await server.post(news("evt-1", "o", "refunded"))).toMatchObject({ status: 202, outcome: "parked" });
  expect(
    (await server.app.operator({ who: "test" }).receipts({ outcome: "parked" })).map(({ reason }) => reason),
  ).toEqual(["waits for order"]);
  await place(server.app, "o");
  await server.app.drain({ budget: "1ms" });
  expect(await server.outcomes()).toEqual(["evt-1 applied"]);
  expect(await statusOf(server, "o")).toBe("refunded");
});
