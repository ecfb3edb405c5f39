/** A connection that is paused: its events are kept and answered, and applied once it is resumed. */
import { connect, type ConnectOptions } from "counterfoil";
import { expect, test } from "vitest";
import { eventually } from "../../src/testing/eventually.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import {
  type CaseOptions,
  type CaseServer,
  caseSecret,
  sender,
  signedEvent,
  startCase,
} from "../support/case-server.ts";

const failing = new Set<string>();

const changed = sender.on("changed", async ({ event, tx, waitFor }) => {
  await tx.sql`INSERT INTO seen (id) VALUES (${event.id})`;
  if (event.id.startsWith("child")) return waitFor("parent", "1");
  if (failing.has(event.id)) throw new Error("The handler fails as it was told to");
});

function connection(id: string, more: Partial<ConnectOptions<"sender">> = {}): ReturnType<typeof connect> {
  return connect(id, { provider: sender, secrets: [caseSecret], tenant: "acme", handlers: [changed], ...more });
}

interface Server extends CaseServer {
  readonly seen: () => Promise<readonly string[]>;
}

async function serverOf(more: Partial<ConnectOptions<"sender">> = {}, options: CaseOptions = {}): Promise<Server> {
  const server = await startCase({
    connections: [connection("sender", more), connection("other")],
    tables: options.database ? [] : ["CREATE TABLE seen (id TEXT)"],
    limits: { queueMs: 60_000 },
    ...options,
  });
  const seen = async (): Promise<readonly string[]> =>
    (await server.rows("SELECT id FROM seen")).map((row) => (row as { id: string }).id);
  return { ...server, seen };
}

const drain = ({ app }: CaseServer): Promise<void> => app.drain({ budget: "1ms" });
const ada = ({ app }: CaseServer): ReturnType<typeof app.operator> => app.operator({ who: "ada" });
const paused = { connection: "sender", reason: "its handler is being mended" } as const;

test("while it is paused, what comes is kept and answered, and nothing of it is applied; resumed, all of it is, in order", async () => {
  const server = await serverOf();
  expect(await ada(server).pause(paused)).toMatchObject({ changed: true });
  expect(await ada(server).pause(paused)).toMatchObject({ changed: false });
  for (const id of ["e1", "e2", "e3"]) {
    expect(await server.post(signedEvent(id))).toMatchObject({ status: 202, outcome: "queued" });
  }
  expect(await server.post(signedEvent("e2"))).toMatchObject({ status: 202, outcome: "duplicate", first: "queued" });
  await drain(server);
  expect(await server.seen()).toEqual([]);
  expect(await server.post(signedEvent("o1"), "other")).toMatchObject({ status: 200, outcome: "applied" });
  await ada(server).resume({ connection: "sender", why: "mended" });
  await drain(server);
  expect(await server.seen()).toEqual(["o1", "e1", "e2", "e3"]);
  expect(await server.post(signedEvent("e4"))).toMatchObject({ status: 200, outcome: "applied" });
});

test("what was waiting before waits on: a failed handler is not tried again, and an arrival releases nothing", async () => {
  const clock = new VirtualClock({ wallMs: Date.now() });
  const server = await serverOf({}, { clock });
  failing.add("broken");
  expect(await server.post(signedEvent("broken"))).toMatchObject({ status: 202, outcome: "held" });
  failing.delete("broken");
  expect(await server.post(signedEvent("child1"))).toMatchObject({ status: 202, outcome: "parked" });
  await ada(server).pause(paused);
  await server.app.transaction({ tenant: "acme" }, ({ arrived }) => arrived("parent", "1"));
  clock.advance(2 * 3_600_000);
  await drain(server);
  expect(await server.outcomes()).toEqual(["broken held", "child1 parked"]);
  expect((await ada(server).status()).due).toEqual([]);
  const [first] = await ada(server).receipts({ eventId: "broken" });
  expect((await ada(server).receipt(first?.id ?? 0)).next).toMatchObject({
    text: expect.stringContaining("its connection is paused"),
    needsOperator: true,
  });
  await ada(server).resume({ connection: "sender" });
  await drain(server);
  expect(await server.seen()).toEqual(["broken"]);
});

test("a worker that runs takes what waits at once when it is resumed, not at its next look", async () => {
  const clock = new VirtualClock({ wallMs: Date.now() });
  const connections = [connection("sender"), connection("other", { apply: "later" })];
  const server = await serverOf({}, { clock, connections });
  await server.app.start({ roles: ["worker"] });
  await ada(server).pause(paused);
  expect(await server.post(signedEvent("e1"))).toMatchObject({ status: 202, outcome: "queued" });
  // The looks that these arrivals caused are over, and the next by itself never comes: the clock stands still.
  await server.post(signedEvent("o1"), "other");
  await eventually(async () => (await server.seen()).length === 1);
  for (let read = 0; read < 10; read += 1) await server.seen();
  await ada(server).resume({ connection: "sender" });
  await eventually(async () => (await server.seen()).length === 2, { withinMs: 20_000 });
  expect(await server.seen()).toEqual(["o1", "e1"]);
});

test("the operator may apply one event of it alone, to see whether it is mended", async () => {
  const server = await serverOf();
  await ada(server).pause(paused);
  await server.post(signedEvent("e1"));
  await server.post(signedEvent("e2"));
  const [second] = await ada(server).receipts({ eventId: "e2" });
  await ada(server).apply({ receiptId: second?.id ?? 0 });
  expect(await server.outcomes()).toEqual(["e1 queued", "e2 applied"]);
});

test("lines stay in order over a pause", async () => {
  const server = await serverOf({ order: () => "all" });
  await ada(server).pause(paused);
  await server.post(signedEvent("e1"));
  await ada(server).resume({ connection: "sender" });
  expect(await server.post(signedEvent("e2"))).toMatchObject({ status: 202, outcome: "queued" });
  await drain(server);
  expect(await server.seen()).toEqual(["e1", "e2"]);
});

test("every process sees it, also one that starts later, and it stands in status, on the list and in the audit", async () => {
  const server = await serverOf();
  await ada(server).pause(paused);
  await server.app.stop();
  const later = await serverOf({}, { database: server.database });
  const beside = await serverOf({}, { database: server.database });
  expect(await later.post(signedEvent("e1"))).toMatchObject({ status: 202, outcome: "queued" });
  await drain(beside);
  expect(await beside.seen()).toEqual([]);
  expect((await ada(beside).status()).pausedConnections).toEqual([paused]);
  expect(await ada(beside).attention()).toMatchObject([{ kind: "connection", ...paused }]);
  await ada(beside).resume({ connection: "sender" });
  expect(await later.post(signedEvent("e2"))).toMatchObject({ status: 200, outcome: "applied" });
  await drain(later);
  expect(await later.outcomes()).toEqual(["e1 applied", "e2 applied"]);
  expect(await ada(later).attention()).toEqual([]);
});

test("a connection that there is not, and a reason that says nothing, are refused", async () => {
  const server = await serverOf();
  await expect(ada(server).pause({ connection: "sendr", reason: "x" })).rejects.toThrow(
    'Cannot pause connection "sendr": it is not configured; known are sender, other',
  );
  await expect(ada(server).pause({ connection: "sender", reason: " " })).rejects.toThrow("the reason is blank");
  expect(await ada(server).resume({ connection: "sender" })).toMatchObject({ changed: false });
});
