/** What a body may do inside its transaction, and what is left of it when it does something else. */
import { type App, connect, defineApp, effect, resource, type } from "counterfoil";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { WorkContext } from "../../src/domain/handler.ts";
import { caseSecret, sender } from "../support/case-delivery.ts";
import { dialect } from "../support/dialect.ts";
import { storeAt } from "../support/engine.ts";
import { rows } from "../support/order-app.ts";
import { ownDatabase } from "../support/own-database.ts";

const tell = effect("tell/v1", {
  input: type<{ n: number }>(),
  request: ({ input }) => ({ method: "POST", url: "https://partner.example/v1/notes", json: input }),
  idempotency: "none",
});
const thing = resource("thing", { state: type<{ name: string }>() });

let app: App;
beforeEach(async () => {
  app = defineApp({
    store: storeAt((await ownDatabase()).address),
    connections: [connect("sender", { provider: sender, secrets: [caseSecret], tenant: "acme", handlers: [] })],
    effects: [tell],
    limits: { obligationsPerEvent: 3 },
  });
  onTestFinished(() => app.stop());
  await rows(app, "CREATE TABLE notes (body TEXT PRIMARY KEY)");
});

const work = <T>(body: (context: WorkContext) => Promise<T> | T): Promise<T> =>
  app.transaction({ tenant: "acme", connection: "sender" }, body);
const notes = async (): Promise<readonly unknown[]> =>
  (await rows(app, `SELECT body FROM notes ORDER BY ${dialect.insertionOrder}`)).map(({ body }) => body);
const owed = async (): Promise<number> => (await app.runtime.store.reader.obligations({}, { limit: 10 })).length;

describe("a statement that fails", () => {
  test("fails its body although the body caught the error, and nothing is kept", async () => {
    const done = work(async ({ tx, owe }) => {
      await tx.sql`INSERT INTO notes VALUES ('kept?')`;
      await owe(tell, { key: ["n"], input: { n: 1 } });
      await tx.sql`INSERT INTO nowhere VALUES (1)`.catch(() => undefined);
      return "looks fine";
    });
    await expect(done).rejects.toThrow(dialect.missing("nowhere"));
    expect([await notes(), await owed()]).toEqual([[], 0]);
  });

  test("closes the door behind it: what comes next says so, with the first error as its cause", async () => {
    const met: unknown[] = [];
    const done = work(async ({ tx, owe }) => {
      await tx.sql`INSERT INTO nowhere VALUES (1)`.catch(() => undefined);
      for (const use of [() => tx.sql`SELECT 1`, () => owe(tell, { key: ["n"], input: { n: 1 } }), () => tx.native]) {
        await Promise.resolve()
          .then(use)
          .catch((error: unknown) => void met.push(error));
      }
    });
    await expect(done).rejects.toThrow(dialect.missing("nowhere"));
    const poisoned = { code: "TRANSACTION_POISONED", cause: { message: dialect.missing("nowhere") } };
    expect(met).toMatchObject([poisoned, poisoned, poisoned]);
  });

  test("counts although nobody awaited it", async () => {
    const done = work(async ({ tx }) => {
      void tx.sql`INSERT INTO nowhere VALUES (1)`;
      await tx.sql`SELECT 1`.catch(() => undefined);
    });
    await expect(done).rejects.toThrow(dialect.missing("nowhere"));
  });

  test.each([
    [
      "a value that is undefined",
      (context: WorkContext) => context.tx.sql`INSERT INTO notes VALUES (${undefined as never})`,
      /value 1: it is undefined/,
    ],
    [
      "a name that is undefined",
      (context: WorkContext) => context.arrived("order", undefined as never),
      /a name is undefined/,
    ],
    [
      "a snapshot without an id",
      (context: WorkContext) => context.snapshot(thing, { id: "", revision: 1, state: { name: "x" } }),
      /a name is empty/,
    ],
  ])("may be %s", async (_name, use, message) => {
    await expect(work(async (context) => void (await use(context)))).rejects.toThrow(message);
    await expect(work(async (context) => void (await use(context).catch(() => undefined)))).rejects.toThrow(message);
  });
});

describe("a transaction that has ended", () => {
  test("cannot be used by what was left behind", async () => {
    let left: WorkContext | undefined;
    await work((context) => void (left = context));
    const uses = [
      () => left!.tx.sql`INSERT INTO notes VALUES ('late')`,
      () => left!.owe(tell, { key: ["n"], input: { n: 1 } }),
      () => left!.arrived("order", "1"),
      () => left!.snapshot(thing, { id: "t", revision: 1, state: { name: "late" } }),
    ];
    for (const use of uses) await expect(use()).rejects.toMatchObject({ code: "TRANSACTION_CLOSED" });
    expect(() => left!.tx.native).toThrow(/await every statement before returning/);
    expect([await notes(), await owed()]).toEqual([[], 0]);
  });
});

describe("obligations", () => {
  test("are owed together at the end, or not at all when the body fails after them", async () => {
    const heard: string[] = [];
    onTestFinished(app.runtime.wake.on("owed", () => void heard.push("owed")));
    const failing = work(async ({ owe }) => {
      await owe(tell, { key: ["a"], input: { n: 1 } });
      throw new Error("after it was owed");
    });
    await expect(failing).rejects.toThrow("after it was owed");
    expect([await owed(), heard]).toEqual([0, []]);
    await work(async ({ owe }) => {
      await owe(tell, { key: ["a"], input: { n: 1 } });
      await owe(tell, { key: ["b"], input: { n: 1 } });
      await owe(tell, { key: ["a"], input: { n: 1 } });
      expect(heard).toEqual([]);
    });
    expect([await owed(), heard]).toEqual([2, ["owed"]]);
    await work(({ owe }) => owe(tell, { key: ["a"], input: { n: 1 } }));
    expect(heard).toEqual(["owed"]);
  });

  test("under a key that is taken by other input undo the body, and the first stands", async () => {
    await work(({ owe }) => owe(tell, { key: ["a"], input: { n: 1 } }));
    const other = work(async ({ tx, owe }) => {
      await tx.sql`INSERT INTO notes VALUES ('kept?')`;
      await owe(tell, { key: ["a"], input: { n: 2 } });
    });
    await expect(other).rejects.toMatchObject({ code: "OPERATION_CONFLICT", message: expect.stringContaining('"a"') });
    expect(await notes()).toEqual([]);
    const detail = await app.runtime.store.reader.obligation("acme", "a");
    expect(detail?.input).toBe('{"n":1}');
  });

  test("of one transaction are bounded", async () => {
    const many = (count: number) =>
      work(async ({ owe }) => {
        for (let n = 0; n < count; n += 1) await owe(tell, { key: ["many", String(n)], input: { n } });
      });
    await expect(many(4)).rejects.toThrow(/one transaction may owe 3 obligations/);
    expect(await owed()).toBe(0);
    await many(3);
    expect(await owed()).toBe(3);
  });
});

describe("a snapshot that contradicts what is kept", () => {
  const contradict = ({ snapshot }: WorkContext) => snapshot(thing, { id: "t", revision: 1, state: { name: "other" } });

  test("undoes a body that lets it out, and not one that answers it", async () => {
    await work(({ snapshot }) => snapshot(thing, { id: "t", revision: 1, state: { name: "first" } }));
    const lets = work(async (context) => {
      await context.tx.sql`INSERT INTO notes VALUES ('lets')`;
      await contradict(context);
    });
    await expect(lets).rejects.toMatchObject({ code: "SNAPSHOT_CONFLICT" });
    await work(async (context) => {
      await contradict(context).catch(() => context.tx.sql`INSERT INTO notes VALUES ('answers')`);
    });
    expect(await notes()).toEqual(["answers"]);
  });
});

test("a resource's own write follows the guard: only for states that are taken, in the same transaction", async () => {
  const written: string[] = [];
  const mirrored = resource("mirrored", {
    state: type<{ name: string }>(),
    write: async ({ tx, id, revision, state }) => {
      written.push(`${id} ${revision} ${state?.name ?? "deleted"}`);
      await tx.sql`INSERT INTO notes VALUES (${`${id} at ${revision}`})`;
    },
  });
  const results = await work(async ({ snapshot }) => [
    await snapshot(mirrored, { id: "m", revision: 2n, state: { name: "two" } }),
    await snapshot(mirrored, { id: "m", revision: "2", state: { name: "two" } }),
    await snapshot(mirrored, { id: "m", revision: 1, state: { name: "one" } }),
    await snapshot(mirrored, { id: "m", revision: 3, deleted: true }),
  ]);
  expect(results).toEqual(["applied", "same", "stale", "applied"]);
  expect(written).toEqual(["m 2 two", "m 3 deleted"]);
  expect(await notes()).toEqual(["m at 2", "m at 3"]);
});
