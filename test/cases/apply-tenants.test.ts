/** Whose data it is, is said by the connection and the signed account, never by what an event claims. */
import { connect, effect, type } from "counterfoil";
import { expect, test } from "vitest";
import { caseSecret, type CaseServer, sender, signedEvent, startCase } from "../support/case-server.ts";

const ship = effect("ship/v1", {
  input: type<{ order: string }>(),
  request: ({ input }) => ({ method: "POST", url: "https://carrier.example/v1/shipments", json: input }),
  idempotency: "none",
});

const paid = sender.on("paid", async ({ event, tx, owe, refuse }) => {
  const { order } = event.data as { readonly order: string };
  const { changes } = await tx.sql`
    UPDATE orders SET status = 'paid' WHERE tenant = ${event.tenant} AND id = ${order} AND status = 'awaiting'`;
  if (changes === 0) return refuse("no such order awaits payment");
  await owe(ship, { key: [order, "fulfil", "v1"], input: { order } });
});

const tenants: Readonly<Record<string, string>> = { north: "tenant-n", south: "tenant-s" };

function market(): Promise<CaseServer> {
  const common = { provider: sender, secrets: [caseSecret], handlers: [paid] };
  return startCase({
    connections: [
      connect("sender", { ...common, tenant: "tenant-a" }),
      connect("market", {
        ...common,
        tenant: (account) => (Object.hasOwn(tenants, account) ? (tenants[account] ?? null) : null),
      }),
    ],
    effects: [ship],
    tables: [
      "CREATE TABLE orders (tenant TEXT, id TEXT, status TEXT, PRIMARY KEY (tenant, id))",
      ...["a", "b", "n", "s"].map((name) => `INSERT INTO orders VALUES ('tenant-${name}', 'order-1', 'awaiting')`),
    ],
  });
}

const statuses = async (server: CaseServer): Promise<readonly string[]> =>
  (await server.rows("SELECT tenant, status FROM orders ORDER BY tenant")).map((row) => Object.values(row).join(" "));

test("a signed event that names another tenant moves its own tenant's order, and nothing of the other's", async () => {
  const server = await market();
  const claims = { tenant: "tenant-b", metadata: { tenant_id: "tenant-b" }, account: "tenant-b" };
  const event = signedEvent("evt-1", { order: "order-1", ...claims }, { type: "paid", ...claims });
  expect(await server.post(event)).toMatchObject({ status: 200, outcome: "applied" });
  expect(await statuses(server)).toEqual([
    "tenant-a paid",
    "tenant-b awaiting",
    "tenant-n awaiting",
    "tenant-s awaiting",
  ]);
  expect(await server.owed()).toEqual(["tenant-a/order-1/fulfil/v1"]);
});

test("accounts of one connection move the orders of their own tenants under the same ids", async () => {
  const server = await market();
  for (const account of ["north", "south"]) {
    const event = signedEvent("evt-1", { order: "order-1" }, { type: "paid", account });
    expect(await server.post(event, "market")).toMatchObject({ outcome: "applied" });
  }
  expect(await server.owed()).toEqual(["tenant-n/order-1/fulfil/v1", "tenant-s/order-1/fulfil/v1"]);
});

test.each(["", "nobody", "constructor", "__proto__"])(
  "an account %j of no tenant is kept and touches nobody's data",
  async (account) => {
    const server = await market();
    const event = signedEvent("evt-1", { order: "order-1" }, { type: "paid", ...(account !== "" && { account }) });
    expect(await server.post(event, "market")).toMatchObject({ status: 202, outcome: "quarantined" });
    expect((await statuses(server)).every((status) => status.endsWith("awaiting"))).toBe(true);
    const [receipt] = await server.app.operator({ who: "test" }).receipts();
    expect(receipt?.reason).toBe("its account belongs to no tenant");
  },
);

test("what belongs to another tenant is not found, with the words for what does not exist", async () => {
  const server = await market();
  await server.post(signedEvent("evt-1", { order: "order-1" }, { type: "paid" }));
  const operator = server.app.operator({ who: "test" });
  const asked = async (tenant: string, key: string) => {
    const error = await operator
      .cancel({ tenant, operationKey: key, reason: "mine" })
      .catch((refused: unknown) => refused);
    return String(error).replaceAll(tenant, "TENANT").replaceAll(key, "KEY");
  };
  expect(await asked("tenant-b", "order-1/fulfil/v1")).toBe(await asked("tenant-b", "order-9/fulfil/v1"));
  expect(await server.owed()).toEqual(["tenant-a/order-1/fulfil/v1"]);
});
