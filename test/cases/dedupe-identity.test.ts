/** What makes two deliveries the same event, and two events the same fact. */
import { connect, effect, type } from "counterfoil";
import { generic, signDelivery, type SignedDelivery, standardWebhooks } from "counterfoil/providers";
import { describe, expect, test } from "vitest";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import {
  careless,
  caseSecret,
  type CaseServer,
  sender,
  signedBytes,
  signedEvent,
  startCase,
  type Told,
} from "../support/case-server.ts";
import { engine } from "../support/engine.ts";

const ship = effect("ship/v1", {
  input: type<{ order: string }>(),
  request: ({ input }) => ({ method: "POST", url: "https://carrier.example/v1/shipments", json: input }),
  idempotency: "none",
});

interface Change {
  readonly order?: string;
}

const changed = sender.on("changed", async ({ event, tx, owe, refuse }) => {
  const { order = event.id } = (event.data ?? {}) as Change;
  await tx.sql`INSERT INTO orders VALUES (${event.tenant}, ${order}, 'new') ON CONFLICT DO NOTHING`;
  const { changes } = await tx.sql`
    UPDATE orders SET status = 'paid' WHERE tenant = ${event.tenant} AND id = ${order} AND status = 'new'`;
  if (changes === 0) return refuse("order is paid");
  await owe(ship, { key: [order, "fulfil", "v1"], input: { order } });
});
/** Trusts the operation key alone. */
const unguarded = sender.on("unguarded", async ({ event, owe }) => {
  const { order = event.id } = (event.data ?? {}) as Change;
  await owe(ship, { key: [order, "fulfil", "v1"], input: { order } });
});

const tables = ["CREATE TABLE orders (tenant TEXT, id TEXT, status TEXT, PRIMARY KEY (tenant, id))"];
const common = { provider: sender, secrets: [caseSecret], handlers: [changed, unguarded] };

function shop(): Promise<CaseServer> {
  return startCase({
    connections: [
      connect("sender", { ...common, tenant: "acme" }),
      connect("second", { ...common, tenant: "acme" }),
      connect("other", { ...common, tenant: "umbrella" }),
      connect("platform", { ...common, tenant: (account) => (account === "" ? "platform" : account) }),
    ],
    effects: [ship],
    tables,
  });
}

const told = (answers: readonly Told[]): readonly string[] =>
  answers.map(({ status, outcome, first, mismatch }) =>
    [status, outcome, first, mismatch && "mismatch"].filter(Boolean).join(" "),
  );

test("one id on two connections, or of two accounts, is two events with outcomes of their own, in any order", async () => {
  const server = await shop();
  const routes = [
    ["sender", {}],
    ["other", {}],
    ["platform", {}],
    ["platform", { account: "north" }],
    ["platform", { account: "south" }],
  ] as const;
  for (const [id, order] of [
    ["evt-1", routes],
    ["evt-2", routes.toReversed()],
  ] as const) {
    const first = order.map(([connection, more]) => server.post(signedEvent(id, {}, more), connection));
    expect(told(await Promise.all(first))).toEqual(routes.map(() => "200 applied"));
    const again = order.map(([connection, more]) => server.post(signedEvent(id, {}, more), connection));
    expect(told(await Promise.all(again))).toEqual(routes.map(() => "200 duplicate applied"));
  }
  expect(await server.outcomes()).toHaveLength(10);
  const tenants = ["acme", "north", "platform", "south", "umbrella"];
  expect(await server.owed()).toEqual(
    tenants.flatMap((tenant) => [`${tenant}/evt-1/fulfil/v1`, `${tenant}/evt-2/fulfil/v1`]),
  );
});

describe("one fact under two event ids", () => {
  test("moves the order once and owes once, also when it comes by two connections at the same time", async () => {
    const server = await shop();
    const answers = await Promise.all([
      server.post(signedEvent("evt-1", { order: "o-1" })),
      server.post(signedEvent("evt-2", { order: "o-1" })),
      server.post(signedEvent("evt-1", { order: "o-1" }), "second"),
    ]);
    expect([...told(answers)].sort()).toEqual(["200 applied", "200 refused", "200 refused"]);
    expect(await server.owed()).toEqual(["acme/o-1/fulfil/v1"]);
  });

  test("owes once even where the handler has no guard but the operation key", async () => {
    const server = await shop();
    const send = (id: string) => server.post(signedEvent(id, { order: "o-1" }, { type: "unguarded" }));
    expect(told(await Promise.all(["evt-1", "evt-2", "evt-3"].map(send)))).toEqual(Array(3).fill("200 applied"));
    expect(await server.owed()).toEqual(["acme/o-1/fulfil/v1"]);
  });
});

test("an id that is the same for different contents is shown as what it is, a mapping that cannot work", async () => {
  const byResource = generic({
    name: "sender",
    signature: { kind: "hmac", header: "x-signature" },
    identity: { id: { from: "body", path: ["data", "order"] }, type: { from: "body", path: ["type"] } },
    data: ["data"],
  });
  const server = await startCase({
    connections: [connect("sender", { ...common, provider: byResource, tenant: "acme" })],
    effects: [ship],
    tables,
  });
  const sent = ["evt-1", "evt-2", "evt-3"].map((id) => server.post(signedEvent(id, { order: "o-1" })));
  expect([...told(await Promise.all(sent))].sort()).toEqual([
    "200 applied",
    "202 duplicate applied mismatch",
    "202 duplicate applied mismatch",
  ]);
  const operator = server.app.operator({ who: "test" });
  expect(await operator.attention()).toMatchObject([{ kind: "receipt", mismatches: 2 }]);
  expect((await operator.status()).mismatches).toBe(2);
});

describe("an id that nothing signs", () => {
  const made = careless.on("made", async ({ event, tx }) => {
    await tx.sql`INSERT INTO made VALUES (${event.id})`;
  });
  const bytes = (text: string, id: string): SignedDelivery => signedBytes(text, { "x-id": id });
  const body = '{"type":"made","data":1}';
  const open = (): Promise<CaseServer> =>
    startCase({
      connections: [
        connect("careless", { provider: careless, secrets: [caseSecret], tenant: "acme", handlers: [made] }),
      ],
      tables: ["CREATE TABLE made (event TEXT)"],
    });

  test("lets a captured delivery through once: under every other id it is a suspect that changes nothing", async () => {
    const server = await open();
    const ids = Array.from({ length: 10 }, (_, n) => `id-${n}`);
    const answers = await Promise.all(ids.map((id) => server.post(bytes(body, id), "careless")));
    expect([...told(answers)].sort()).toEqual(["200 applied", ...Array<string>(9).fill("202 suspect")]);
    expect(await server.rows("SELECT count(*) AS n FROM made")).toEqual([{ n: 1 }]);
    expect(await server.app.operator({ who: "test" }).attention()).toHaveLength(9);
  });

  test("and its content are two keys, and hitting either or both of them has an answer", async () => {
    const server = await open();
    const other = '{"type":"made","data":2}';
    const sent = [
      ["id-1", body, "200 applied"],
      ["id-2", other, "200 applied"],
      ["id-1", body, "200 duplicate applied"],
      ["id-1", '{"type":"made","data":3}', "202 duplicate applied mismatch"],
      ["id-3", body, "202 suspect"],
      ["id-1", other, "202 duplicate applied mismatch"],
      ["id-3", body, "202 duplicate suspect"],
    ] as const;
    for (const [id, text, answer] of sent) {
      expect(told([await server.post(bytes(text, id), "careless")])).toEqual([answer]);
    }
    expect(await server.rows("SELECT event FROM made")).toEqual([{ event: "id-1" }, { event: "id-2" }]);
  });

  test("is suspected for as long as its connection says", async () => {
    const clock = new VirtualClock({ wallMs: Date.now() });
    const common = { provider: careless, secrets: [caseSecret], tenant: "acme", handlers: [] } as const;
    const server = await startCase({
      ...(engine === "sqlite" && { clock }),
      connections: [
        connect("careless", common),
        connect("briefly", { ...common, suspectWindow: "1h" }),
        connect("never", { ...common, suspectWindow: "0s" }),
      ],
    });
    const outcomes = async (id: string) =>
      Promise.all(["careless", "briefly", "never"].map(async (to) => (await server.post(bytes(body, id), to)).outcome));
    expect(await outcomes("id-1")).toEqual(["ignored", "ignored", "ignored"]);
    expect(await outcomes("id-2")).toEqual(["suspect", "suspect", "ignored"]);
    if (engine === "sqlite") {
      clock.advance(3_600_000);
      expect(await outcomes("id-3")).toEqual(["suspect", "ignored", "ignored"]);
    }
    const tooLong = () => startCase({ connections: [connect("careless", { ...common, suspectWindow: "91d" })] });
    await expect(tooLong()).rejects.toThrow(/suspectWindow is 7862400000 ms, and history is kept for 7776000000 ms/);
  });

  test.each([[{}], [{ "x-id": "" }], [{ "x-id": " " }], [{ "x-id": "x".repeat(513) }], [{ "x-id": "a, b" }]])(
    "is not made up where it is unusable: %j is 400, as often as it comes",
    async (headers) => {
      const server = await open();
      for (let copy = 0; copy < 2; copy += 1) {
        expect(await server.post(signedBytes(body, headers), "careless")).toEqual({
          status: 400,
          error: "NO_EVENT_ID",
        });
      }
      expect(await server.outcomes()).toEqual([]);
    },
  );
});

test("two honest events with the same body both count where their ids are signed", async () => {
  const secret = `whsec_${Buffer.alloc(24, 7).toString("base64")}`;
  const server = await startCase({
    connections: [connect("std", { provider: standardWebhooks, secrets: [secret], tenant: "acme", handlers: [] })],
  });
  const send = (id: string): Promise<Told> => {
    const body = Buffer.from('{"type":"ticked","data":{}}');
    const headers = { "webhook-id": id };
    return server.post(signDelivery(standardWebhooks.rules, secret, { body, headers, timestampMs: Date.now() }), "std");
  };
  expect(told(await Promise.all(["msg_1", "msg_2", "msg_1"].map(send))).toSorted()).toEqual([
    "200 duplicate ignored",
    "200 ignored",
    "200 ignored",
  ]);
});

test("an id is its text: a number and the same digits as a string are one event, with two contents", async () => {
  const server = await shop();
  expect(told([await server.post(signedBytes('{"id":7,"type":"unguarded"}'))])).toEqual(["200 applied"]);
  expect(told([await server.post(signedBytes('{"id":"7","type":"unguarded"}'))])).toEqual([
    "202 duplicate applied mismatch",
  ]);
  expect(told([await server.post(signedBytes('{"id":"7 ","type":"unguarded"}'))])).toEqual(["200 applied"]);
  expect(await server.outcomes()).toEqual(["7 applied", "7  applied"]);
});
