/**
 * Members of one group share a commit and nothing else: whatever one of them does to the transaction,
 * each keeps the fate that it would have had alone.
 */
import { connect, effect, resource, type, type TelemetryEvent } from "counterfoil";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { HandlerContext } from "../../src/domain/handler.ts";
import { Inbox } from "../../src/inbox/inbox.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { headersFromFetch } from "../../src/verify/delivery-headers.ts";
import { caseSecret, type CaseServer, sender, signedEvent, startCase } from "../support/case-server.ts";
import { dialect } from "../support/dialect.ts";
import { engine } from "../support/engine.ts";

const tell = effect("tell/v1", {
  input: type<{ id: string; n: number }>(),
  request: ({ input }) => ({ method: "POST", url: "https://partner.example/v1/notes", json: input }),
  idempotency: "none",
});
const thing = resource("thing", { state: type<{ name: string }>() });
const never = new Promise<never>(() => undefined);

/** What each kind of member does after it has written its row and owed its call, and what becomes of it under the policy `hold`. */
const kinds = {
  applies: { fate: "applied", end: () => undefined },
  refuses: { fate: "refused", end: ({ refuse }) => void refuse("no") },
  ignores: { fate: "ignored", end: ({ ignore }) => void ignore("nothing to do") },
  waits: { fate: "parked", end: ({ waitFor }) => void waitFor("thing", "missing") },
  throws: {
    fate: "held",
    end: () => {
      throw new Error("injected");
    },
  },
  hangs: { fate: "held", end: () => never },
  swallows: { fate: "held", end: ({ tx }) => tx.sql`INSERT INTO nowhere VALUES (1)`.catch(() => undefined) },
  "ends the transaction": { fate: "held", end: ({ tx }) => tx.sql`INSERT INTO tripwire VALUES (1)` },
  "swallows the end": {
    fate: "held",
    end: ({ tx }) => tx.sql`INSERT INTO tripwire VALUES (1)`.catch(() => undefined),
  },
  "breaks the commit": { fate: "held", end: ({ tx }) => tx.sql`INSERT INTO lines (parent) VALUES ('nobody')` },
  "would commit": { fate: "held", end: ({ tx }) => tx.sql`COMMIT` },
  contradicts: {
    fate: "conflict",
    end: ({ snapshot, event }) => snapshot(thing, { id: "t", revision: 1, state: { name: event.id } }),
  },
  "owes another's key": {
    fate: "conflict",
    end: ({ owe, event }) => owe(tell, { key: ["taken"], input: { id: event.id, n: 2 } }),
  },
} satisfies Readonly<Record<string, { fate: string; end: (context: HandlerContext) => unknown }>>;

type Kind = keyof typeof kinds;
const names = Object.keys(kinds) as readonly Kind[];
/** What costs a group its transaction: on PostgreSQL a statement that fails undoes no more than its own member. */
const breakers: readonly Kind[] =
  engine === "sqlite" ? ["ends the transaction", "swallows the end", "breaks the commit"] : ["breaks the commit"];
/** Where a handler that hangs is found by a time limit, it would take the time of every company that it is in. */
const companions = engine === "sqlite" ? names : names.filter((kind) => kind !== "hangs");

const handlers = names.map((name) =>
  sender.on(name, async (context) => {
    const { event, tx, owe } = context;
    runs.push(event.id);
    await tx.sql`INSERT INTO notes VALUES (${event.id})`;
    await owe(tell, { key: [event.id], input: { id: event.id, n: 1 } });
    await (kinds[name].end as (context: HandlerContext) => unknown)(context);
  }),
);
/** Which handlers ran, in order. */
let runs: string[] = [];

interface Groups extends CaseServer {
  /** Delivers all in one turn, with a fate for each. */
  readonly turn: (...deliveries: readonly ReturnType<typeof signedEvent>[]) => Promise<readonly string[]>;
}

async function groups(failing: "hold" | "refuse" = "hold", clock?: VirtualClock): Promise<Groups> {
  runs = [];
  const parent = sender.on("parent", async ({ event, tx, arrived }) => {
    await tx.sql`INSERT INTO notes VALUES (${event.id})`;
    await arrived("thing", event.id);
  });
  const child = sender.on("child", async ({ event, tx, waitFor }) => {
    const { of } = event.data as { readonly of: string };
    const [found] = await tx.sql`SELECT id FROM notes WHERE id = ${of}`;
    if (found === undefined) return waitFor("thing", of);
    await tx.sql`INSERT INTO notes VALUES (${event.id})`;
  });
  const slow = sender.on("slow", async ({ event, tx }) => {
    await tx.sql`INSERT INTO notes VALUES (${event.id})`;
    clock?.advance(51);
  });
  const back = sender.on("takes back", async ({ event, withdraw }) => {
    await withdraw([(event.data as { readonly of: string }).of]);
  });
  const all = [...handlers, parent, child, slow, back];
  const server = await startCase({
    connections: [
      connect("sender", { provider: sender, secrets: [caseSecret], tenant: "acme", handlers: all, failing }),
    ],
    effects: [tell],
    tables: [
      "CREATE TABLE notes (id TEXT PRIMARY KEY)",
      "CREATE TABLE tripwire (n INTEGER)",
      ...dialect.raising({ table: "tripwire", before: "INSERT", ends: "transaction" }),
      "CREATE TABLE lines (parent TEXT REFERENCES notes (id) DEFERRABLE INITIALLY DEFERRED)",
    ],
    // By the machine's own clock a slow one would close groups early; only a test's clock may.
    // What hangs is given up soon where a time limit has to find it.
    limits: { groupMs: clock ? 50 : 60_000, queueMs: 60_000, handlerMs: 2_000 },
    ...(clock && { clock }),
  });
  const { app } = server;
  await app.transaction({ tenant: "acme", connection: "sender" }, async ({ snapshot, owe }) => {
    await snapshot(thing, { id: "t", revision: 1, state: { name: "first" } });
    await owe(tell, { key: ["taken"], input: { id: "first", n: 1 } });
  });
  const inbox = new Inbox(app, () => app.open());
  const connection = app.connections.get("sender")!;
  return {
    ...server,
    turn: async (...deliveries) => {
      const received = deliveries.map(async ({ headers: given, body }) => {
        const headers = headersFromFetch(new Headers(given));
        try {
          const delivered = await inbox.deliver(connection, { headers, body, arrivedAtMs: 0 }, () => undefined);
          if (delivered.kind === "batch") throw new Error("it is no batch");
          const { outcome, duplicate, mismatch } = delivered.received;
          return [duplicate ? `duplicate of ${outcome}` : outcome, mismatch && "mismatch"].filter(Boolean).join(", ");
        } catch (error) {
          return (error as { readonly code: string }).code;
        }
      });
      return Promise.all(received);
    },
  };
}

const member = (id: string, kind: string, data: object = {}) => signedEvent(id, data, { type: kind });

async function notes({ rows }: CaseServer): Promise<readonly string[]> {
  return (await rows("SELECT id FROM notes ORDER BY id")).map((row) => (row as { readonly id: string }).id);
}

/** The sizes of the groups that committed or were split, since the last look. */
function sizes(events: readonly TelemetryEvent[]): readonly string[] {
  return events.flatMap((event) =>
    "members" in event ? [`${event.kind.replace("group.", "")} ${event.members}`] : [],
  );
}

describe("each member of a group keeps its own fate", () => {
  test("whatever the others do to the transaction, in any company and order", { timeout: 180_000 }, async () => {
    const server = await groups();
    let run = 0;
    const applied: string[] = [];
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...companions), { minLength: 2, maxLength: 7 }), async (company) => {
        run += 1;
        const ids = company.map((_, n) => `evt-${String(run).padStart(3, "0")}-${n}`);
        const fates = await server.turn(...company.map((kind, n) => member(ids[n]!, kind)));
        expect(fates).toEqual(company.map((kind) => kinds[kind].fate));
        applied.push(...ids.filter((_, n) => company[n] === "applies"));
        expect(await notes(server)).toEqual(applied);
        expect(await server.owed()).toEqual([...applied.map((id) => `acme/${id}`), "acme/taken"]);
        const known = await server.turn(...company.map((kind, n) => member(ids[n]!, kind)));
        expect(known).toEqual(company.map((kind) => `duplicate of ${kinds[kind].fate}`));
      }),
      { numRuns: 60 },
    );
  });

  test("and nothing is left of those that fail where the sender is to send again", async () => {
    const server = await groups("refuse");
    const answers = await server.turn(...names.map((kind) => member(kind, kind)));
    const failed = names.filter((kind) => kinds[kind].fate === "held");
    expect(answers).toEqual(
      names.map((kind) =>
        failed.includes(kind) ? expect.stringMatching(/^(HANDLER_|TRANSACTION_)/) : kinds[kind].fate,
      ),
    );
    expect((await server.outcomes()).length).toBe(names.length - failed.length);
    expect(await notes(server)).toEqual(["applies"]);
    // Each of them is fresh when it comes again, and meets the same end.
    expect(await server.turn(...names.map((kind) => member(kind, kind)))).toEqual(
      names.map((kind, n) => (failed.includes(kind) ? answers[n] : `duplicate of ${kinds[kind].fate}`)),
    );
  });
});

describe("a group", () => {
  test("shares one commit, and members that only fail alone do not cost it", async () => {
    const server = await groups();
    const mild = companions.filter((kind) => !breakers.includes(kind));
    await server.turn(...mild.map((kind) => member(kind, kind)));
    expect(sizes(server.events)).toEqual([`committed ${mild.length}`]);
    // One that waits looks a second time where others may commit meanwhile, under a lock that keeps them from it.
    expect([...new Set(runs)]).toEqual(mild);
  });

  test.each(breakers)("of which one %s is run again, each member alone", async (breaker) => {
    const server = await groups();
    const fates = await server.turn(member("a", "applies"), member("b", breaker), member("c", "applies"));
    expect(fates).toEqual(["applied", "held", "applied"]);
    expect(sizes(server.events)).toEqual(["split 3", "committed 1", "committed 1"]);
    expect(runs.filter((id) => id === "a")).toEqual(["a", "a"]);
    expect(await notes(server)).toEqual(["a", "c"]);
    const [held] = await server.app.operator({ who: "test" }).receipts({ outcome: "held" });
    expect(held?.reason).toMatch(/^HANDLER_FAILED: /);
  });

  test("closes when its handlers have run long enough, and the rest goes into the next", async () => {
    const clock = new VirtualClock({ wallMs: Date.now() });
    const server = await groups("hold", clock);
    const fates = await server.turn(
      member("a", "applies"),
      member("b", "slow"),
      member("c", "applies"),
      member("d", "throws"),
    );
    expect(fates).toEqual(["applied", "applied", "applied", "held"]);
    // The second group starts with what the first left, whose claims left nothing behind.
    expect(sizes(server.events)).toEqual(["committed 4", "committed 2"]);
    expect(runs).toEqual(["a", "c", "d"]);
    expect(await server.outcomes()).toEqual(["a applied", "b applied", "c applied", "d held"]);
  });

  test("takes copies of an event, which meet what the first left, whatever that was", async () => {
    const server = await groups();
    const changed = member("a", "applies", { other: true });
    expect(
      await server.turn(
        member("a", "applies"),
        member("a", "applies"),
        changed,
        member("b", "throws"),
        member("b", "throws"),
      ),
    ).toEqual(["applied", "duplicate of applied", "duplicate of applied, mismatch", "held", "duplicate of held"]);
    expect(await notes(server)).toEqual(["a"]);
    expect(sizes(server.events)).toEqual(["committed 5"]);
    const refusing = await groups("refuse");
    expect(await refusing.turn(member("b", "throws"), member("b", "throws"))).toEqual([
      "HANDLER_FAILED",
      "HANDLER_FAILED",
    ]);
    expect(runs).toEqual(["b", "b"]);
  });

  test("of which one takes back what another owes takes back what is owed by then", async () => {
    const server = await groups();
    const fates = await server.turn(
      member("w", "takes back", { of: "b" }),
      member("a", "applies"),
      member("b", "applies"),
      member("x", "takes back", { of: "a" }),
    );
    expect(fates).toEqual(["applied", "applied", "conflict", "applied"]);
    const operator = server.app.operator({ who: "test" });
    const states = await Promise.all(["a", "b"].map((key) => operator.obligation("acme", key)));
    expect(states.map((found) => found.obligation.state)).toEqual(["withdrawn", "withdrawn"]);
    expect(await notes(server)).toEqual(["a"]);
  });

  test("of fifty copies at once takes two commits, and counts each copy", async () => {
    const server = await groups();
    const fates = await server.turn(...Array.from({ length: 50 }, () => member("a", "applies")));
    expect(fates).toEqual(["applied", ...Array<string>(49).fill("duplicate of applied")]);
    expect(sizes(server.events)).toEqual(["committed 32", "committed 18"]);
    expect(runs).toEqual(["a"]);
    expect((await server.app.operator({ who: "test" }).status()).deliveries).toBe(50);
  });

  test("whose first copy breaks the commit runs each copy alone, and keeps what it had decided", async () => {
    const server = await groups();
    const [breaker] = breakers;
    const fates = await server.turn(
      member("a", breaker!),
      member("a", breaker!),
      member("b", "applies"),
      member("b", "applies"),
    );
    expect(fates).toEqual(["held", "duplicate of held", "applied", "duplicate of applied"]);
    expect(await notes(server)).toEqual(["b"]);
  });
});

describe("a parent and the child that waits for it in one group", () => {
  test("with the parent first, apply both", async () => {
    const server = await groups();
    expect(await server.turn(member("p", "parent"), member("c", "child", { of: "p" }))).toEqual(["applied", "applied"]);
    expect(sizes(server.events)).toEqual(["committed 2"]);
  });

  test.each([[[]], [["breaks the commit"]]])(
    "with the child first, and %j beside them, apply the child right after",
    async (others) => {
      const server = await groups();
      const company = others.map((kind) => member(kind, kind));
      const fates = await server.turn(member("c", "child", { of: "p" }), ...company, member("p", "parent"));
      expect(fates).toEqual(["parked", ...others.map(() => "held"), "applied"]);
      expect(await server.outcomes({ outcome: "parked" })).toEqual(["c parked"]);
      await server.app.drain({ budget: "10s" });
      expect(await server.outcomes({ outcome: "parked" })).toEqual([]);
      expect(await notes(server)).toEqual(["c", "p"]);
    },
  );
});
