/** Events that come before what they are about: kept, acknowledged, and applied once it is there. */
import { type App, connect } from "counterfoil";
import { describe, expect, test } from "vitest";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { caseSecret, type CaseServer, sender, signedEvent, startCase } from "../support/case-server.ts";
import { dialect } from "../support/dialect.ts";

interface Child {
  readonly parent: string;
  readonly n: number;
}

const child = sender.on("child", async ({ event, tx, waitFor }) => {
  const { parent, n } = event.data as Child;
  const [found] = await tx.sql`SELECT id FROM parents WHERE id = ${parent}`;
  if (found === undefined) return waitFor("parent", parent);
  await tx.sql`INSERT INTO children VALUES (${parent}, ${n})`;
});
const parent = sender.on("parent", async ({ event, tx, arrived }) => {
  const { parent: id } = event.data as Child;
  await tx.sql`INSERT INTO parents VALUES (${id})`;
  await arrived("parent", id);
});

async function family(): Promise<CaseServer & { readonly clock: VirtualClock }> {
  const clock = new VirtualClock({ wallMs: Date.now() });
  const server = await startCase({
    connections: [
      connect("sender", {
        provider: sender,
        secrets: [caseSecret],
        tenant: "acme",
        handlers: [child, parent],
        releaseBy: ({ data }) => (data as Child).n,
      }),
    ],
    tables: ["CREATE TABLE parents (id TEXT PRIMARY KEY)", "CREATE TABLE children (parent TEXT, n INTEGER)"],
    // A slow machine is not what is tested.
    limits: { queueMs: 60_000 },
    clock,
  });
  return { ...server, clock };
}

const childOf = (of: string, n: number) => signedEvent(`${of}-child-${n}`, { parent: of, n }, { type: "child" });
const parentCalled = (id: string) => signedEvent(`${id}-itself`, { parent: id, n: 0 }, { type: "parent" });

const create = (app: App, id: string): Promise<void> =>
  app.transaction({ tenant: "acme" }, async ({ tx, arrived }) => {
    await tx.sql`INSERT INTO parents VALUES (${id})`;
    await arrived("parent", id);
  });

async function children({ rows }: CaseServer, of: string): Promise<readonly number[]> {
  return (await rows(`SELECT n FROM children WHERE parent = '${of}' ORDER BY ${dialect.insertionOrder}`)).map(
    (row) => (row as Child).n,
  );
}

test("a child waits for its parent, two hours if need be, and is applied once, copies included", async () => {
  const server = await family();
  const { clock, app } = server;
  expect(await server.post(childOf("p", 1))).toMatchObject({ status: 202, outcome: "parked" });
  clock.advance(2 * 3_600_000);
  await app.drain({ budget: "1ms" });
  expect(await server.post(childOf("p", 1))).toMatchObject({ status: 202, outcome: "duplicate", first: "parked" });
  expect(await server.post(parentCalled("p"))).toMatchObject({ status: 200, outcome: "applied" });
  await app.drain({ budget: "1ms" });
  expect(await children(server, "p")).toEqual([1]);
  expect(await server.post(childOf("p", 1))).toMatchObject({ status: 200, outcome: "duplicate", first: "applied" });
  expect(await children(server, "p")).toEqual([1]);
});

test("a hundred and twenty children of one parent are applied after it, each once, in the order that was declared", async () => {
  const server = await family();
  const order = Array.from({ length: 120 }, (_, n) => (n * 7) % 120);
  await Promise.all(order.map((n) => server.post(childOf("p", n))));
  await Promise.all(["q", "r"].map((other) => server.post(childOf(other, 1))));
  expect((await server.app.operator({ who: "test" }).status()).receipts).toEqual({ parked: 122 });
  await server.post(parentCalled("p"));
  await server.app.drain({ budget: "10s" });
  expect(await children(server, "p")).toEqual(order.toSorted((a, b) => a - b));
  expect((await server.app.operator({ who: "test" }).status()).receipts).toEqual({ applied: 121, parked: 2 });
});

test("a child whose parent never comes is the operator's after a day, and is applied all the same when it comes then", async () => {
  const server = await family();
  const { app, clock } = server;
  const operator = app.operator({ who: "test" });
  await server.post(childOf("p", 1));
  expect(await operator.attention()).toEqual([]);
  clock.advance(24 * 3_600_000);
  await app.drain({ budget: "1ms" });
  expect(await operator.attention()).toMatchObject([{ kind: "receipt", receipt: { outcome: "parked" } }]);
  await create(app, "p");
  await app.drain({ budget: "1ms" });
  expect(await children(server, "p")).toEqual([1]);
  expect(await operator.attention()).toEqual([]);
});

test("a parent that was written without a word is found by the slow retry", async () => {
  const server = await family();
  await server.post(childOf("p", 1));
  await server.rows("INSERT INTO parents VALUES ('p')");
  await server.app.drain({ budget: "1ms" });
  expect(await children(server, "p")).toEqual([]);
  server.clock.advance(7 * 60_000);
  await server.app.drain({ budget: "1ms" });
  expect(await children(server, "p")).toEqual([1]);
});

describe("a webhook and the application's own write in the same moment", () => {
  test("end with the event applied, whichever of them is first", async () => {
    const server = await family();
    const ids = Array.from({ length: 40 }, (_, n) => `p-${n}`);
    for (const [n, id] of ids.entries()) {
      const both = [() => server.post(childOf(id, 1)), () => create(server.app, id)];
      await Promise.all((n % 2 === 0 ? both : both.toReversed()).map((act) => act()));
    }
    await server.app.drain({ budget: "10s" });
    for (const id of ids) expect(await children(server, id)).toEqual([1]);
  });
});
