/**
 * Handlers of a group that run beside each other leave what they would have left one after the other: they read
 * what they write, in as many statements as each happens to take.
 */
import { connect, effect, type } from "counterfoil";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { Inbox } from "../../src/inbox/inbox.ts";
import { headersFromFetch } from "../../src/verify/delivery-headers.ts";
import { caseSecret, sender, signedEvent, startCase } from "../support/case-server.ts";
import { engine } from "../support/engine.ts";

/** Groups in a row that were kept, before handlers run beside each other. */
const earnedBy = 64;

interface Step {
  /** Statements before the counter is read. */
  readonly looks: number;
  readonly counts: boolean;
  /** Under a key of its own, or under one that all owe with an input of their own. */
  readonly owes?: "own" | "shared" | undefined;
  /** Reads what `waits` in the same run waits for. */
  readonly end?: "refuses" | "fails" | "arrives" | "waits" | undefined;
}

const note = effect("note/v1", {
  input: type<{ event: string }>(),
  request: ({ input }) => ({ method: "POST", url: "https://notes.example/v1", json: input }),
  idempotency: { header: "Idempotency-Key", keyLifetime: "24h" },
});

/** One counter that every event reads, and writes one higher. */
async function counting() {
  let [running, most] = [0, 0];
  const counted = sender.on("counted", async ({ event, tx, owe, refuse, arrived, waitFor }) => {
    const { looks, counts, owes, end } = event.data as Step;
    running += 1;
    most = Math.max(most, running);
    try {
      for (let look = 0; look < looks; look += 1) await tx.sql`SELECT n FROM counters`;
      if (!counts) return;
      if (end === "waits") {
        const [found] = await tx.sql`SELECT id FROM arrivals`;
        if (found === undefined) return waitFor("parent", "p");
      }
      const [row] = await tx.sql`SELECT n FROM counters`;
      await tx.sql`UPDATE counters SET n = ${Number(row?.["n"]) + 1}`;
      if (owes) await owe(note, { key: [owes === "own" ? event.id : "shared"], input: { event: event.id } });
      if (end === "refuses") return refuse("counted for nothing");
      if (end === "fails") throw new Error("counted for nothing");
      if (end === "arrives") {
        await tx.sql`INSERT INTO arrivals VALUES (${event.id})`;
        await arrived("parent", "p");
      }
    } finally {
      running -= 1;
    }
  });
  const server = await startCase({
    connections: [connect("sender", { provider: sender, secrets: [caseSecret], tenant: "acme", handlers: [counted] })],
    effects: [note],
    tables: [
      "CREATE TABLE counters (n INTEGER)",
      "INSERT INTO counters VALUES (0)",
      "CREATE TABLE arrivals (id TEXT PRIMARY KEY)",
    ],
    limits: { groupMs: 60_000, queueMs: 60_000 },
  });
  const inbox = new Inbox(server.app, () => server.app.open());
  const connection = server.app.connections.get("sender")!;
  let last = 0;
  const deliver = async (step: Step): Promise<string> => {
    const { headers: given, body } = signedEvent(`event-${(last += 1)}`, step, { type: "counted" });
    const headers = headersFromFetch(new Headers(given));
    const delivered = await inbox.deliver(connection, { headers, body, arrivedAtMs: 0 }, () => undefined);
    return delivered.kind === "event" ? delivered.received.outcome : "batch";
  };
  const turn = (steps: readonly Step[]): Promise<readonly string[]> => Promise.all(steps.map(deliver));
  return {
    ...server,
    turn,
    /** Has the handlers of the next group run beside each other, where that is ever done. */
    earn: async (step: Step) => {
      for (let group = 0; group <= earnedBy; group += 1) await turn([step, step]);
      most = 0;
    },
    count: async () => Number(((await server.rows("SELECT n FROM counters")) as { n: number }[])[0]?.n),
    /** Handlers that were under way at once, at most, since then. */
    most: () => most,
  };
}

test("handlers of a group run beside each other where a statement is a round trip", async () => {
  const { earn, turn, count, most } = await counting();
  await earn({ looks: 0, counts: true });
  const before = await count();
  await turn(Array.from({ length: 12 }, () => ({ looks: 0, counts: true })));
  expect(await count()).toBe(before + 12);
  if (engine === "postgres") expect(most()).toBeGreaterThan(1);
  else expect(most()).toBe(1);
});

test(
  "none of a group's work is lost, however many statements each of its handlers takes",
  { timeout: 120_000 },
  async () => {
    const { earn, turn, count, owed } = await counting();
    const step = fc.record({
      looks: fc.integer({ min: 0, max: 3 }),
      counts: fc.boolean(),
      owes: fc.option(fc.constantFrom("own", "own", "shared"), { nil: undefined }),
      end: fc.option(fc.constantFrom("refuses", "fails"), { nil: undefined, freq: 6 }),
    });
    let isShared = false;
    const outcomeOf = ({ counts, owes, end }: Step): string => {
      if (!counts) return "applied";
      if (end) return end === "fails" ? "held" : "refused";
      if (owes === "shared" && isShared) return "conflict";
      isShared ||= owes === "shared";
      return "applied";
    };
    const groups = fc.array(fc.array(step, { minLength: 2, maxLength: 12 }), { minLength: 1, maxLength: 3 });
    await earn({ looks: 0, counts: false });
    await fc.assert(
      fc.asyncProperty(groups, async (given) => {
        for (const steps of given) {
          const [counted, owing] = [await count(), (await owed()).length];
          const outcomes = steps.map(outcomeOf);
          expect(await turn(steps)).toEqual(outcomes);
          const applied = steps.filter(({ counts }, index) => counts && outcomes[index] === "applied");
          expect(await count()).toBe(counted + applied.length);
          expect((await owed()).length).toBe(owing + applied.filter(({ owes }) => owes).length);
        }
      }),
      { numRuns: 40 },
    );
  },
);

test("an event that waits misses no arrival behind it in its group", async () => {
  const { app, earn, turn, count, outcomes } = await counting();
  await earn({ looks: 1, counts: false });
  const before = await count();
  await turn([
    { looks: 0, counts: true, end: "waits" },
    { looks: 0, counts: true, end: "arrives" },
    { looks: 0, counts: true },
  ]);
  await app.drain({ budget: "10s" });
  expect(await outcomes({ outcome: "parked" })).toEqual([]);
  expect(await count()).toBe(before + 3);
});
