/** Every tool, when its connection is ended in the middle of what is done in its transaction. */
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

describe.each(tools)("with $name", ({ name, open }) => {
  test("a connection that is ended is trouble of the store, nothing is kept, and the next transaction works", async () => {
    const tool = await open(database.address);
    const app = defineApp({ store: storeAt(database.address), connections: [], effects: [parcel] });
    const owe = (end: boolean): Promise<void> =>
      tool.transact((transaction) =>
        app.within(transaction).run({ tenant: name }, async (context) => {
          await context.owe(parcel, { key: ["one"], input: { to: "a" } });
          const [row] = await context.tx.sql<{ pid: number }>`SELECT pg_backend_pid() AS pid`;
          if (end) await ask(database.address, "SELECT pg_terminate_backend($1, 10000)", [row?.pid]);
        }),
      );
    try {
      await expect(owe(true)).rejects.toSatisfy((error) => error instanceof Error);
      const owed = () => app.operator({ who: "test" }).obligations({ tenant: name });
      expect(await owed()).toEqual([]);
      await owe(false);
      expect(await owed()).toHaveLength(1);
    } finally {
      await app.stop();
      await tool.close();
    }
  });
});
