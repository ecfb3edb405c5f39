/**
 * Every tool, when its connection is ended in the middle of what is done in its transaction. Left out is
 * postgres.js 3.4.9: after such an end it writes to a socket that it has no more, in a turn of its own,
 * where nobody can catch what that throws.
 */
import { defineApp } from "counterfoil";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parcel } from "../../src/testing/adapter-bench.ts";
import { storeAt } from "../support/engine.ts";
import { postgresDatabase } from "../support/postgres-database.ts";
import { ask } from "../support/postgres-query.ts";
import type { TemporaryDatabase } from "../support/temporary-database.ts";
import { tools } from "../support/tools/tools.ts";

let database: TemporaryDatabase;
beforeAll(async () => {
  database = await postgresDatabase();
});
afterAll(async () => {
  await database[Symbol.asyncDispose]();
});

describe.each(tools.filter(({ name }) => !name.includes("postgres.js")))("with $name", ({ name, open }) => {
  test.each([
    ["between two statements", (pid: number) => ask(database.address, "SELECT pg_terminate_backend($1, 10000)", [pid])],
    ["during a statement", () => undefined],
  ])("a connection that is ended %s is trouble of the store, and nothing is kept", async (when, end) => {
    const tool = await open(database.address);
    const app = defineApp({ store: storeAt(database.address), connections: [], effects: [parcel] });
    const met: unknown[] = [];
    const owe = (isEnded: boolean): Promise<void> =>
      tool.transact(async (transaction) => {
        const work = app.within(transaction).run({ tenant: name }, async (context) => {
          await context.owe(parcel, { key: [when], input: { to: "a" } });
          const [row] = await context.tx.sql<{ pid: number }>`SELECT pg_backend_pid() AS pid`;
          if (!isEnded) return;
          await end(row?.pid ?? 0);
          await context.tx.sql`SELECT pg_terminate_backend(${row?.pid ?? 0})`;
        });
        await work.catch((error: unknown) => void met.push(error));
        if (isEnded) await work;
      });
    try {
      await expect(owe(true)).rejects.toBeInstanceOf(Error);
      expect(met).toMatchObject([{ code: "STORE_UNAVAILABLE" }]);
      const owed = () => app.operator({ who: "test" }).obligations({ tenant: name, keyPrefix: when });
      expect(await owed()).toEqual([]);
      await owe(false);
      expect(await owed()).toHaveLength(1);
    } finally {
      await app.stop();
      await tool.close();
    }
  });
});
