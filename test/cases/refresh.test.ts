/** Resources without a reliable revision: events only say that something changed, and the source says what. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { connect, type Limits, resource, type } from "counterfoil";
import { describe, expect, onTestFinished, test } from "vitest";
import { Caller } from "../../src/outbox/caller.ts";
import { Refresher } from "../../src/outbox/refresher.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { caseSecret, type CaseServer, sender, signedEvent, startCase } from "../support/case-server.ts";
import { ours } from "../support/engine.ts";

interface Customer {
  readonly email: string;
}

interface Changed {
  readonly id: string;
  readonly revision?: number;
  readonly email?: string;
}

interface Source {
  readonly url: string;
  readonly asked: readonly string[];
  /** Answers from now on; the default says who was asked for, and how often. */
  answer: (response: ServerResponse, asked: number) => void;
}

async function startSource(): Promise<Source> {
  const asked: string[] = [];
  const source = {
    url: "",
    asked,
    answer: (response: ServerResponse, n: number): void => void response.end(JSON.stringify({ email: `${n}@x.test` })),
  };
  const server = createServer((request, response) => {
    asked.push(`${request.url} ${request.headers["authorization"]}`);
    source.answer(response, asked.length);
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => server.close().closeAllConnections());
  source.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return source;
}

interface Shop extends CaseServer {
  readonly source: Source;
  readonly clock: VirtualClock;
  readonly state: (kind?: string) => Promise<unknown>;
}

async function shop(limits: Partial<Limits> = {}): Promise<Shop> {
  const source = await startSource();
  const clock = new VirtualClock({ wallMs: Date.now() });
  const common = {
    get: ({ id }: { readonly id: string }) => `${source.url}/customers/${id}`,
    headers: () => ({ authorization: "Bearer of the source" }),
    allow: [source.url],
  };
  const customer = resource("customer", {
    state: type<Customer>(),
    write: ({ tx, id, state }) =>
      state === undefined
        ? tx.sql`DELETE FROM customers WHERE id = ${id}`
        : tx.sql`
            INSERT INTO customers VALUES (${id}, ${state.email}) ON CONFLICT (id) DO UPDATE SET email = excluded.email`,
    fetch: {
      ...common,
      answer: type<Customer & { readonly deleted?: boolean }>(),
      found: ({ email, deleted }) => (deleted ? undefined : { state: { email } }),
    },
  });
  const invoice = resource("invoice", {
    state: type<Customer>(),
    fetch: {
      ...common,
      answer: type<Customer & { readonly revision: number }>(),
      found: ({ email, revision }) => ({ state: { email }, revision }),
    },
  });
  const touched = sender.on("touched", ({ event, refresh }) => refresh(customer, { id: (event.data as Changed).id }));
  const changed = sender.on("changed", async ({ event, snapshot, tx }) => {
    const { id, revision = 0, email = "" } = event.data as Changed;
    await snapshot(invoice, { id, revision, state: { email } });
    await tx.sql`INSERT INTO customers VALUES (${event.id}, ${email})`;
  });
  const imported = sender.on("imported", async ({ event, snapshot }) => {
    const { id, email = "" } = event.data as Changed;
    await snapshot(invoice, { id, revision: "unknown", state: { email } });
  });
  const server = await startCase({
    connections: [
      connect("sender", {
        provider: sender,
        secrets: [caseSecret],
        tenant: "acme",
        handlers: [touched, changed, imported],
      }),
    ],
    resources: [customer, invoice],
    tables: ["CREATE TABLE customers (id TEXT PRIMARY KEY, email TEXT)"],
    limits: { queueMs: 60_000, ...limits },
    clock,
  });
  const state = async (kind = "customer"): Promise<unknown> => {
    const kept = await server.app.runtime.store.reader.snapshot({ connection: "sender", account: "", kind, id: "c1" });
    return kept && [kept.revision, kept.state && (JSON.parse(kept.state) as Customer).email];
  };
  return { ...server, source, clock, state };
}

const touch = (id: string) => signedEvent(id, { id: "c1" }, { type: "touched" });
const change = (id: string, revision: number, email: string) => signedEvent(id, { id: "c1", revision, email });
const drain = ({ app }: CaseServer): Promise<void> => app.drain({ budget: "10s" });

test("an event marks the resource, the source is asked once, and what it says is kept and written", async () => {
  const server = await shop();
  for (const n of [1, 2, 3]) {
    expect(await server.post(touch(`e${n}`))).toMatchObject({ status: 200, outcome: "applied" });
  }
  expect(await server.state()).toBeUndefined();
  await drain(server);
  expect(server.source.asked).toEqual(["/customers/c1 Bearer of the source"]);
  expect(await server.state()).toEqual(["1", "1@x.test"]);
  expect(await server.rows("SELECT * FROM customers")).toEqual([{ id: "c1", email: "1@x.test" }]);
  expect(server.events).toContainEqual(
    expect.objectContaining({ kind: "refresh.ended", outcome: "applied", ticket: 1 }),
  );
  await server.post(touch("e4"));
  await drain(server);
  expect(await server.state()).toEqual(["2", "2@x.test"]);
});

test("an event that comes while the source is asked has it asked once more", async () => {
  const server = await shop();
  const { promise: begun, resolve: begin } = Promise.withResolvers<ServerResponse>();
  server.source.answer = (response, n) =>
    n === 1 ? begin(response) : void response.end(JSON.stringify({ email: `${n}@x.test` }));
  await server.post(touch("e1"));
  const draining = drain(server);
  const response = await begun;
  await server.post(touch("e2"));
  await server.post(touch("e3"));
  response.end(JSON.stringify({ email: "old@x.test" }));
  await draining;
  expect(server.source.asked).toHaveLength(2);
  expect(await server.state()).toEqual(["2", "2@x.test"]);
});

test("a fetch that is slower than a later one writes nothing", async () => {
  const server = await shop();
  const { promise: begun, resolve: begin } = Promise.withResolvers<ServerResponse>();
  server.source.answer = (response, n) =>
    n === 1 ? begin(response) : void response.end(JSON.stringify({ email: `${n}@x.test` }));
  await server.post(touch("e1"));
  const draining = drain(server);
  const slow = await begun;
  await takeOver(server);
  expect(await server.state()).toEqual(["2", "2@x.test"]);
  slow.end(JSON.stringify({ email: "slow@x.test" }));
  await draining;
  expect(await server.state()).toEqual(["2", "2@x.test"]);
  expect(server.events).toContainEqual(expect.objectContaining({ kind: "refresh.ended", outcome: "superseded" }));
});

/** Another worker takes over, as it would once the lease of the first has ended. */
async function takeOver({ app, rows }: Shop): Promise<void> {
  const { runtime } = app;
  // The time of the lease, without that of the call that is under way in this process.
  await rows(`UPDATE ${ours("refreshes")} SET due_at = 0`);
  const caller = new Caller({ clock: runtime.clock, limits: runtime.limits, idleMs: 1 });
  const other = new Refresher(runtime, {
    resource: runtime.resources.get("customer")!,
    call: (...given) => caller.call(...given),
  });
  await other.run();
  caller.close();
}

describe("a source that", () => {
  test.each([
    ["answers 404", (response: ServerResponse) => void response.writeHead(404).end()],
    ["says so in its answer", (response: ServerResponse) => void response.end('{"deleted":true}')],
  ])("%s leaves a tombstone, which a later state replaces", async (_, gone) => {
    const server = await shop();
    await server.post(touch("e1"));
    await drain(server);
    const { answer } = server.source;
    server.source.answer = gone;
    await server.post(touch("e2"));
    await drain(server);
    expect(await server.state()).toEqual(["1", null]);
    expect(await server.rows("SELECT * FROM customers")).toEqual([]);
    server.source.answer = answer;
    await server.post(touch("e3"));
    await drain(server);
    expect(await server.state()).toEqual(["3", "3@x.test"]);
  });

  test("asks for patience is asked again when it said, and not before", async () => {
    const server = await shop();
    const { answer } = server.source;
    server.source.answer = (response) => void response.writeHead(429, { "retry-after": "3600" }).end();
    await server.post(touch("e1"));
    await drain(server);
    server.source.answer = answer;
    server.clock.advance(3_590_000);
    await server.post(touch("e2"));
    await drain(server);
    expect(server.source.asked).toHaveLength(1);
    server.clock.advance(11_000);
    await drain(server);
    expect(await server.state()).toEqual(["2", "2@x.test"]);
  });

  test("fails on and on is the operator's, who has it asked again", async () => {
    const server = await shop({ attemptsMax: 2 });
    const { answer } = server.source;
    server.source.answer = (response) => void response.writeHead(500).end("a secret of the source");
    await server.post(touch("e1"));
    await drain(server);
    server.clock.advance(3_600_000);
    await drain(server);
    const operator = server.app.operator({ who: "test" });
    expect(await operator.attention()).toMatchObject([
      { kind: "refresh", refresh: { kind: "customer", id: "c1", tries: 2, reason: "status 500" } },
    ]);
    server.source.answer = answer;
    await operator.refresh({ connection: "sender", account: "", kind: "customer", id: "c1", why: "it is up again" });
    await drain(server);
    expect(await operator.attention()).toEqual([]);
    expect(await server.state()).toEqual(["3", "3@x.test"]);
  });

  test.each([
    ["is cut", '{"email"', /not JSON/],
    ["redirects", null, /status 302/],
  ])("gives an answer that %s changes nothing", async (_, body, reason) => {
    const server = await shop({ attemptsMax: 1 });
    server.source.answer = (response) =>
      void (body === null ? response.writeHead(302, { location: "http://127.0.0.1:1/" }).end() : response.end(body));
    await server.post(touch("e1"));
    await drain(server);
    expect(await server.state()).toBeUndefined();
    const [item] = await server.app.operator({ who: "test" }).attention();
    expect(item?.kind === "refresh" && item.refresh.reason).toMatch(reason);
  });

  test("is private and not allowed is not called", async () => {
    const { url } = await startSource();
    const secret = resource("secret", {
      state: type<Customer>(),
      fetch: { get: () => url, found: () => undefined },
    });
    const touched = sender.on("touched", ({ refresh }) => refresh(secret, { id: "c1" }));
    const server = await startCase({
      connections: [
        connect("sender", { provider: sender, secrets: [caseSecret], tenant: "acme", handlers: [touched] }),
      ],
      resources: [secret],
      limits: { attemptsMax: 1 },
    });
    await server.post(touch("e1"));
    await drain(server);
    expect(await server.app.operator({ who: "test" }).attention()).toMatchObject([
      { kind: "refresh", refresh: { reason: expect.stringMatching(/blocked/) as unknown } },
    ]);
  });
});

describe("two contents of one revision", () => {
  test.each([
    ["the event's", "new@x.test", "applied", 2],
    ["what is kept", "old@x.test", "resolved", 1],
    ["a third", "third@x.test", "resolved", 1],
  ])("are decided by the source: %s", async (_, said, outcome, writes) => {
    const server = await shop();
    server.source.answer = (response) => void response.end(JSON.stringify({ email: said, revision: 7 }));
    await server.post(change("e1", 7, "old@x.test"));
    expect(await server.post(change("e2", 7, "new@x.test"))).toMatchObject({ status: 202, outcome: "conflict" });
    await drain(server);
    expect(server.source.asked).toHaveLength(1);
    expect(await server.state("invoice")).toEqual(["7", said]);
    expect(await server.outcomes()).toEqual(["e1 applied", `e2 ${outcome}`]);
    expect(await server.rows("SELECT * FROM customers")).toHaveLength(writes);
    expect(await server.app.operator({ who: "test" }).attention()).toEqual([]);
  });

  test("wait for an operator where the source does not answer, who may have it asked once more", async () => {
    const server = await shop({ attemptsMax: 1 });
    server.source.answer = (response) => void response.writeHead(503).end();
    await server.post(change("e1", 7, "old@x.test"));
    await server.post(change("e2", 7, "new@x.test"));
    await drain(server);
    const operator = server.app.operator({ who: "test" });
    expect((await operator.attention()).map(({ kind }) => kind).toSorted()).toEqual(["receipt", "refresh"]);
    server.source.answer = (response) => void response.end(JSON.stringify({ email: "new@x.test", revision: 8 }));
    const [conflict] = await operator.receipts({ outcome: "conflict" });
    await operator.resolve({ receiptId: conflict?.id ?? 0, choice: "refresh" });
    await drain(server);
    expect(await server.state("invoice")).toEqual(["8", "new@x.test"]);
    expect(await server.outcomes()).toEqual(["e1 applied", "e2 stale"]);
    expect(await operator.attention()).toEqual([]);
  });
});

describe("a source that says gone of what an event wrote anew while it was asked", () => {
  test.each([
    ["over an older revision", true],
    ["where nothing was known", false],
  ])("deletes nothing and is asked once more, %s", async (_, known) => {
    const server = await shop();
    const { promise: begun, resolve: begin } = Promise.withResolvers<ServerResponse>();
    server.source.answer = (response, n) =>
      n === 1 ? begin(response) : void response.end(JSON.stringify({ email: "source@x.test", revision: 8 }));
    if (known) await server.post(change("e1", 5, "old@x.test"));
    const invoice = server.app.runtime.resources.get("invoice")!;
    await server.app.transaction({ tenant: "acme", connection: "sender" }, ({ refresh }) =>
      refresh(invoice, { id: "c1" }),
    );
    const draining = drain(server);
    const slow = await begun;
    await server.post(change("e2", 7, "new@x.test"));
    slow.writeHead(404).end();
    await draining;
    const ended = server.events.filter(({ kind }) => kind === "refresh.ended");
    expect(ended).toMatchObject([{ outcome: "superseded" }, { outcome: "applied" }]);
    expect(await server.state("invoice")).toEqual(["8", "source@x.test"]);
  });

  test("says it again, and it is gone", async () => {
    const server = await shop();
    await server.post(change("e1", 5, "old@x.test"));
    server.source.answer = (response) => void response.writeHead(404).end();
    const invoice = server.app.runtime.resources.get("invoice")!;
    await server.app.transaction({ tenant: "acme", connection: "sender" }, ({ refresh }) =>
      refresh(invoice, { id: "c1" }),
    );
    await drain(server);
    expect(await server.state("invoice")).toEqual(["5", null]);
    expect(server.source.asked).toHaveLength(1);
  });

  test("of a row that came without a revision has it deleted", async () => {
    const server = await shop();
    server.source.answer = (response) => void response.writeHead(404).end();
    await server.post(signedEvent("e1", { id: "c1", email: "row@x.test" }, { type: "imported" }));
    await drain(server);
    expect(await server.state("invoice")).toEqual(["unknown", null]);
    expect(server.source.asked).toHaveLength(1);
  });
});

test("a row that is imported without a revision has its source asked, and never replaces what is known", async () => {
  const server = await shop();
  server.source.answer = (response) => void response.end(JSON.stringify({ email: "source@x.test", revision: 3 }));
  const row = (id: string, email: string) => signedEvent(id, { id: "c1", email }, { type: "imported" });
  await server.post(row("e1", "row@x.test"));
  expect(await server.state("invoice")).toEqual(["unknown", "row@x.test"]);
  await drain(server);
  expect(await server.state("invoice")).toEqual(["3", "source@x.test"]);
  expect(await server.post(row("e2", "late row@x.test"))).toMatchObject({ outcome: "stale" });
  expect(await server.post(change("e3", 2, "older@x.test"))).toMatchObject({ outcome: "stale" });
});

test("a resource that is not registered, or has no fetch, is named", async () => {
  const server = await shop();
  const stranger = resource("stranger", { state: type<Customer>() });
  await expect(
    server.app.transaction({ tenant: "acme", connection: "sender" }, ({ refresh }) => refresh(stranger, { id: "c1" })),
  ).rejects.toThrow(/add it to resources in defineApp/);
  await expect(startCase({ resources: [stranger] })).rejects.toThrow(/declares no fetch/);
});

test("a kind may say how its revisions sort, where they are no integers", async () => {
  const server = await shop();
  const release = resource("release", {
    state: type<Customer>(),
    revision: (text) => text.split(".").reduce((sum, part) => sum * 1_000n + BigInt(part), 0n),
  });
  const take = (revision: string) =>
    server.app.transaction({ tenant: "acme", connection: "sender" }, ({ snapshot }) =>
      snapshot(release, { id: "c1", revision, state: { email: revision } }),
    );
  expect(await take("1.9.0")).toBe("applied");
  expect(await take("1.10.0")).toBe("applied");
  expect(await take("1.9.9")).toBe("stale");
  expect(await take("1.10.0")).toBe("same");
  expect(await server.state("release")).toEqual(["1010000", "1.10.0"]);
});
