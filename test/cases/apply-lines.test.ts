/** Events of one order key: one after the other, and none that overtakes what is not decided. */
import { connect, type ConnectOptions } from "counterfoil";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { startProcess } from "../../src/testing/processes.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { careless, caseSecret, type CaseServer, sender, signedEvent, startCase } from "../support/case-server.ts";
import { dialect } from "../support/dialect.ts";
import { ours } from "../support/engine.ts";

interface Change {
  readonly of: string;
  readonly n: number;
  readonly wait?: string;
}

/** Events that fail, until they are taken out again. */
const failing = new Set<string>();

const changed = sender.on("changed", async ({ event, tx, waitFor }) => {
  const { of, n, wait } = event.data as Change;
  if (failing.has(event.id)) throw new Error("The handler fails as it was told to");
  if (wait !== undefined && (await tx.sql`SELECT of FROM log WHERE of = ${wait}`).length === 0) {
    return waitFor("thing", wait);
  }
  await tx.sql`INSERT INTO log VALUES (${of}, ${n})`;
});

type Lines = CaseServer & { readonly clock: VirtualClock; readonly log: (of: string) => Promise<readonly number[]> };

async function lines(more: Partial<ConnectOptions<"sender">> = {}): Promise<Lines> {
  failing.clear();
  const clock = new VirtualClock({ wallMs: Date.now() });
  const server = await startCase({
    connections: [
      connect("sender", {
        provider: sender,
        secrets: [caseSecret],
        tenant: "acme",
        handlers: [changed],
        order: ({ data }) => (data as Change).of,
        ...more,
      }),
    ],
    tables: ["CREATE TABLE log (of TEXT, n INTEGER)"],
    limits: { queueMs: 60_000, heldTriesMax: 1 },
    clock,
  });
  const log = async (of: string): Promise<readonly number[]> =>
    (await server.rows(`SELECT n FROM log WHERE of = '${of}' ORDER BY ${dialect.insertionOrder}`)).map(
      (row) => (row as Change).n,
    );
  return { ...server, clock, log };
}

const idOf = (of: string, n: number): string => `${of}-${n}`;
const change = (of: string, n: number, more: object = {}) => signedEvent(idOf(of, n), { of, n, ...more });
const drain = ({ app }: CaseServer): Promise<void> => app.drain({ budget: "10s" });

async function receiptId({ app }: CaseServer, eventId: string): Promise<number> {
  const [receipt] = await app.operator({ who: "test" }).receipts({ eventId });
  return receipt?.id ?? 0;
}

describe.each(["now", "later"] as const)("events of one key, applied %s", (apply) => {
  test("stand behind one that is held, whatever its place, and no other key waits", async () => {
    const server = await lines({ apply });
    failing.add("a-2");
    for (const n of [1, 2, 3, 4]) {
      const told = await server.post(change("a", n));
      expect(told.status).toBe(n === 1 && apply === "now" ? 200 : 202);
      await server.post(change("b", n));
    }
    await drain(server);
    expect(await server.log("a")).toEqual([1]);
    expect(await server.log("b")).toEqual([1, 2, 3, 4]);
    expect(await server.outcomes()).toEqual(expect.arrayContaining(["a-2 held", "a-3 queued", "a-4 queued"]));
    const operator = server.app.operator({ who: "test" });
    expect(await operator.attention()).toMatchObject([{ receipt: { eventId: "a-2" } }]);
    failing.clear();
    await operator.apply({ receiptId: await receiptId(server, "a-2") });
    await drain(server);
    expect(await server.log("a")).toEqual([1, 2, 3, 4]);
    expect(await server.post(change("a", 5))).toMatchObject({ outcome: apply === "now" ? "applied" : "queued" });
  });
});

describe("an operator", () => {
  test("lets a line go on without its first, and never past it", async () => {
    const server = await lines();
    failing.add("a-1");
    for (const n of [1, 2, 3]) await server.post(change("a", n));
    const operator = server.app.operator({ who: "test" });
    const second = await receiptId(server, "a-2");
    expect((await operator.receipt(second)).next.text).toMatch(/once the earlier event of its order key is decided/);
    await expect(operator.apply({ receiptId: second })).rejects.toThrow(
      /earlier event of its order key is not decided/,
    );
    expect(await server.log("a")).toEqual([]);
    await operator.resolve({ receiptId: await receiptId(server, "a-1"), choice: "keep" });
    await drain(server);
    expect(await server.log("a")).toEqual([2, 3]);
  });

  test("may close one in the middle, which the line then goes on without", async () => {
    const server = await lines();
    failing.add("a-1");
    for (const n of [1, 2, 3]) await server.post(change("a", n));
    const operator = server.app.operator({ who: "test" });
    await operator.resolve({ receiptId: await receiptId(server, "a-2"), choice: "keep" });
    await drain(server);
    expect(await server.log("a")).toEqual([]);
    failing.clear();
    await operator.apply({ receiptId: await receiptId(server, "a-1") });
    await drain(server);
    expect(await server.log("a")).toEqual([1, 3]);
  });
});

test("one that cannot be read now keeps its place in the line, and nobody waits behind it for ever", async () => {
  let unreadable = false;
  const server = await lines({
    releaseBy: ({ data }) => {
      if (unreadable) throw new TypeError("The data cannot be read as it was told to");
      return (data as Change).n;
    },
  });
  failing.add("a-1");
  for (const n of [1, 2]) await server.post(change("a", n));
  unreadable = true;
  const operator = server.app.operator({ who: "test" });
  const applied = await operator.apply({ receiptId: await receiptId(server, "a-1") });
  expect(applied.says).toMatch(/^It is quarantined now/);
  unreadable = false;
  await drain(server);
  expect(await server.log("a")).toEqual([2]);
});

test("a parked event keeps its line until what it waits for is there", async () => {
  const server = await lines();
  expect(await server.post(change("a", 1, { wait: "b" }))).toMatchObject({ status: 202, outcome: "parked" });
  expect(await server.post(change("a", 2))).toMatchObject({ status: 202, outcome: "queued" });
  expect(await server.post(change("a", 2))).toMatchObject({ status: 202, outcome: "duplicate", first: "queued" });
  await server.post(change("b", 1));
  await server.app.transaction({ tenant: "acme" }, ({ arrived }) => arrived("thing", "b"));
  await drain(server);
  expect(await server.log("a")).toEqual([1, 2]);
});

test("a declared order decides among those that wait, also for one that comes after", async () => {
  const server = await lines({ releaseBy: ({ data }) => (data as Change).n });
  failing.add("a-5");
  for (const n of [5, 9, 7]) await server.post(change("a", n));
  expect(await server.post(change("a", 3))).toMatchObject({ status: 200, outcome: "applied" });
  failing.clear();
  await server.app.operator({ who: "test" }).apply({ receiptId: await receiptId(server, "a-5") });
  await drain(server);
  expect(await server.log("a")).toEqual([3, 5, 7, 9]);
});

test("an event of no line waits for none, and a key that is none is shown", async () => {
  const server = await lines({
    order: ({ data }) => {
      const { of } = data as Change;
      return of === "none" ? null : of === "blank" ? "" : of === "missing" ? (undefined as unknown as string) : of;
    },
  });
  failing.add("none-1");
  await server.post(change("none", 1));
  expect(await server.post(change("none", 2))).toMatchObject({ status: 200, outcome: "applied" });
  for (const of of ["blank", "missing"]) {
    expect(await server.post(change(of, 1))).toMatchObject({ status: 202, outcome: "quarantined" });
  }
});

test("accounts have lines of their own", async () => {
  const server = await lines();
  failing.add("a-1");
  await server.post(change("a", 1));
  const other = signedEvent("a-2", { of: "a", n: 2 }, { account: "acct_2" });
  expect(await server.post(other)).toMatchObject({ status: 200, outcome: "applied" });
});

test("a suspect keeps nobody waiting: a replay must not stop what follows", async () => {
  const handler = careless.on("changed", async ({ tx }) => {
    await tx.sql`INSERT INTO log VALUES ('a', 1)`;
  });
  const server = await startCase({
    connections: [
      connect("careless", {
        provider: careless,
        secrets: [caseSecret],
        tenant: "acme",
        handlers: [handler],
        order: () => "a",
      }),
    ],
    tables: ["CREATE TABLE log (of TEXT, n INTEGER)"],
  });
  const from = (id: string, n: number) => {
    const { body, headers } = signedEvent("x", { n });
    return { body, headers: { ...headers, "x-id": id } };
  };
  expect(await server.post(from("1", 1), "careless")).toMatchObject({ outcome: "applied" });
  expect(await server.post(from("2", 1), "careless")).toMatchObject({ outcome: "suspect" });
  expect(await server.post(from("3", 2), "careless")).toMatchObject({ outcome: "applied" });
});

test("a line whose first row was removed by hand goes on by itself", async () => {
  const server = await lines();
  failing.add("a-1");
  for (const n of [1, 2]) await server.post(change("a", n));
  await server.rows(`DELETE FROM ${ours("receipts")} WHERE id = ${await receiptId(server, "a-1")}`);
  server.clock.advance(10 * 60_000);
  await drain(server);
  expect(await server.log("a")).toEqual([2]);
});

test("whatever fails, waits and is decided: each line ends in the order in which it came", async () => {
  const step = fc.record({ of: fc.constantFrom("a", "b", "c"), fails: fc.boolean(), drained: fc.boolean() });
  let run = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 3, maxLength: 12 }),
      fc.constantFrom("now", "later"),
      async (steps, apply) => {
        run += 1;
        const server = await lines({ apply });
        const sent: Record<string, number[]> = {};
        for (const [n, { of, fails, drained }] of steps.entries()) {
          if (fails) failing.add(idOf(of, n));
          await server.post(change(of, n));
          (sent[of] ??= []).push(n);
          if (drained) await drain(server);
        }
        await drain(server);
        // Whatever is applied so far is the beginning of its line.
        for (const [of, numbers] of Object.entries(sent)) {
          const log = await server.log(of);
          expect(log).toEqual(numbers.slice(0, log.length));
        }
        failing.clear();
        const operator = server.app.operator({ who: "test" });
        for (const held of (await operator.receipts({ outcome: "held" })).toReversed()) {
          await operator.apply({ receiptId: held.id }).catch(() => undefined);
          await drain(server);
        }
        for (const [of, numbers] of Object.entries(sent)) expect(await server.log(of)).toEqual(numbers);
        await server.app.stop();
      },
    ),
    { numRuns: 8 },
  );
  expect(run).toBeGreaterThan(0);
});

test("receivers and workers of several processes apply each line in the order in which it was acknowledged", async () => {
  const server = await lines();
  const file = new URL("children/line.ts", import.meta.url);
  await using stack = new AsyncDisposableStack();
  const children = Array.from({ length: 3 }, () =>
    stack.use(startProcess(file, { arguments: [server.database.address] })),
  );
  for (const child of children) await child.ask("work");
  const rounds = 12;
  // One sender for each line, which goes from process to process and sends the next after the answer.
  await Promise.all(
    ["a", "b", "c", "d"].map(async (of, line) => {
      for (let n = 0; n < rounds; n += 1) await children[(n + line) % 3]?.ask("receive", { of, n });
    }),
  );
  await expect
    .poll(async () => (await server.app.operator({ who: "test" }).status()).receipts, { timeout: 60_000 })
    .toEqual({ applied: 4 * rounds });
  const numbers = Array.from({ length: rounds }, (_, n) => n);
  for (const of of ["a", "b", "c", "d"]) expect(await server.log(of)).toEqual(numbers);
});
