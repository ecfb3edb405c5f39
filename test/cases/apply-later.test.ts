/** Connections that keep an event, answer, and leave its handler to a worker. */
import { connect, type ConnectOptions, effect, type } from "counterfoil";
import { defineProvider } from "counterfoil/providers";
import { describe, expect, test } from "vitest";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { caseSecret, type CaseServer, sender, signedEvent, startCase } from "../support/case-server.ts";

const tell = effect("tell/v1", {
  input: type<{ id: string }>(),
  request: ({ input }) => ({ method: "POST", url: "https://partner.example/v1/changes", json: input }),
  idempotency: "none",
});

/** Events that its handler fails on, until they are taken out again. */
const failing = new Set<string>();

const changed = sender.on("changed", async ({ event, tx, owe }) => {
  await tx.sql`INSERT INTO seen VALUES (${event.id})`;
  await owe(tell, { key: [event.id], input: { id: event.id } });
  if (failing.has(event.id)) throw new Error("The handler fails as it was told to");
});

async function later(
  more: Partial<ConnectOptions<"sender">> = {},
): Promise<CaseServer & { readonly clock: VirtualClock; readonly seen: () => Promise<readonly unknown[]> }> {
  const clock = new VirtualClock({ wallMs: Date.now() });
  const server = await startCase({
    connections: [
      connect("sender", {
        provider: sender,
        secrets: [caseSecret],
        tenant: "acme",
        handlers: [changed],
        apply: "later",
        ...more,
      }),
    ],
    effects: [tell],
    tables: ["CREATE TABLE seen (id TEXT)"],
    limits: { queueMs: 60_000, heldTriesMax: 2 },
    clock,
  });
  const seen = async (): Promise<readonly unknown[]> =>
    (await server.rows("SELECT id FROM seen ORDER BY id")).map((row) => (row as { id: string }).id);
  return { ...server, clock, seen };
}

const drain = ({ app }: CaseServer): Promise<void> => app.drain({ budget: "1ms" });

test("an event is kept and answered 202 without its handler, and a worker applies it once", async () => {
  const server = await later();
  expect(await server.post(signedEvent("e1"))).toMatchObject({ status: 202, outcome: "queued" });
  expect(await server.post(signedEvent("e1"))).toMatchObject({ status: 202, outcome: "duplicate", first: "queued" });
  expect(await server.seen()).toEqual([]);
  expect(await server.owed()).toEqual([]);
  await drain(server);
  expect(await server.seen()).toEqual(["e1"]);
  expect(await server.owed()).toEqual(["acme/e1"]);
  expect(await server.post(signedEvent("e1"))).toMatchObject({ status: 200, outcome: "duplicate", first: "applied" });
  await drain(server);
  expect(await server.seen()).toEqual(["e1"]);
});

test("an event that is told apart by its arrival keeps its id when it is read again", async () => {
  const notices = defineProvider({
    ...sender.rules,
    name: "notices",
    identity: { ...sender.rules.identity, id: { from: "arrival" } },
  });
  const noticed = notices.on("changed", async ({ event, tx }) => {
    await tx.sql`INSERT INTO seen VALUES (${event.id})`;
  });
  const clock = new VirtualClock({ wallMs: Date.now() });
  const server = await startCase({
    connections: [
      connect("sender", {
        provider: notices,
        secrets: [caseSecret],
        tenant: "acme",
        handlers: [noticed],
        apply: "later",
        suspectWindow: "0s",
      }),
    ],
    tables: ["CREATE TABLE seen (id TEXT)"],
    limits: { queueMs: 60_000 },
    clock,
  });
  for (let n = 0; n < 2; n += 1) {
    expect(await server.post(signedEvent("e1"))).toMatchObject({ status: 202 });
    clock.advance(1_000);
  }
  await drain(server);
  const seen = (await server.rows("SELECT id FROM seen ORDER BY id")).map((row) => (row as { id: string }).id);
  const receipts = await server.app.operator({ who: "test" }).receipts();
  expect(seen).toHaveLength(2);
  expect(seen).toEqual(receipts.map(({ eventId }) => eventId).toSorted());
});

test("a worker that runs is told at once of what was queued", async () => {
  const server = await later();
  await server.app.start({ roles: ["worker"] });
  await server.post(signedEvent("e1"));
  await expect.poll(() => server.seen(), { timeout: 60_000 }).toEqual(["e1"]);
});

test("what no handler is mapped to, or cannot be read, is decided at once", async () => {
  const server = await later();
  expect(await server.post(signedEvent("e1", {}, { type: "other" }))).toMatchObject({
    status: 200,
    outcome: "ignored",
  });
  const strict = sender.on(
    "changed",
    {
      "~standard": { version: 1, vendor: "test", validate: () => ({ issues: [{ message: "does not fit" }] }) },
    },
    () => undefined,
  );
  const other = await later({ handlers: [strict] });
  expect(await other.post(signedEvent("e1"))).toMatchObject({ status: 202, outcome: "quarantined" });
});

test("a handler that fails holds its event and leaves nothing; after its tries the operator is asked", async () => {
  const server = await later();
  failing.add("bad");
  await server.post(signedEvent("bad"));
  await server.post(signedEvent("good"));
  await drain(server);
  expect(await server.seen()).toEqual(["good"]);
  expect(await server.outcomes()).toEqual(["bad held", "good applied"]);
  expect(await server.post(signedEvent("bad"))).toMatchObject({ status: 202, outcome: "duplicate", first: "held" });
  const operator = server.app.operator({ who: "test" });
  expect(await operator.attention()).toEqual([]);
  server.clock.advance(3_600_000);
  await drain(server);
  expect(await operator.attention()).toMatchObject([{ receipt: { eventId: "bad", outcome: "held", tries: 2 } }]);
  failing.delete("bad");
  const [bad] = await operator.receipts({ eventId: "bad" });
  expect(await operator.apply({ receiptId: bad?.id ?? 0 })).toMatchObject({ changed: true, says: "It is applied now" });
  expect(await server.seen()).toEqual(["bad", "good"]);
});

describe("an operator", () => {
  test("applies a queued event now, and the worker finds nothing to do", async () => {
    const server = await later();
    await server.post(signedEvent("e1"));
    const operator = server.app.operator({ who: "test" });
    const [queued] = await operator.receipts({ outcome: "queued" });
    const receiptId = queued?.id ?? 0;
    expect((await operator.receipt(receiptId)).next).toMatchObject({ text: "its handler runs", needsOperator: false });
    await operator.apply({ receiptId, version: queued?.version });
    await drain(server);
    expect(await server.seen()).toEqual(["e1"]);
    await expect(operator.apply({ receiptId, version: queued?.version })).rejects.toThrow(/changed/);
  });

  test("sees what is queued and taken by nobody for an hour", async () => {
    const server = await later();
    await server.post(signedEvent("e1"));
    server.clock.advance(3_600_001);
    expect(await server.app.operator({ who: "test" }).attention()).toMatchObject([{ receipt: { outcome: "queued" } }]);
  });
});

test("the library call keeps the event too, and what cannot be refused later is refused as a setting", async () => {
  const server = await later();
  expect(await server.app.receive("sender", signedEvent("e1"))).toMatchObject({ outcome: "queued" });
  await expect(later({ failing: "refuse" })).rejects.toThrow(/answered before its handler runs/);
  await expect(later({ apply: "soon" as "later" })).rejects.toThrow(/"now" or "later"/);
});
