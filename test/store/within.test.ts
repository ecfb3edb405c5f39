/** SQLite: a transaction on a connection of the user's own to the same file. */

import { DatabaseSync } from "node:sqlite";
import { type App, defineApp } from "counterfoil";
import { fromPg } from "counterfoil/adapters";
import { sqlite } from "counterfoil/sqlite";
import { exerciseAdapter } from "counterfoil/testing";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { ownDatabase } from "../support/own-database.ts";

describe("a transaction of node:sqlite", () => {
  exerciseAdapter(test, async () => {
    const { address } = await ownDatabase();
    const store = sqlite(address);
    await store.migrate();
    const database = new DatabaseSync(address);
    return {
      store,
      transact: async (body) => {
        database.exec("BEGIN IMMEDIATE");
        try {
          const value = await body(database);
          database.exec("COMMIT");
          return value;
        } catch (error) {
          database.exec("ROLLBACK");
          throw error;
        }
      },
      [Symbol.asyncDispose]: async () => database.close(),
    };
  });
});

describe("what is done in it", () => {
  test("is undone also outside of an attempt, and no savepoint is left behind", async () => {
    const { address } = await ownDatabase();
    const store = sqlite(address);
    await store.migrate();
    await store.open();
    onTestFinished(() => store.close());
    const database = new DatabaseSync(address);
    onTestFinished(() => database.close());
    database.exec("BEGIN IMMEDIATE");
    const work = (end: () => void): Promise<void> =>
      store.within(
        database,
        async (tx) => {
          await tx.touch();
          end();
        },
        { waitMs: 0 },
      );
    const undone = work(() => {
      throw new Error("undo");
    });
    await expect(undone).rejects.toThrow("undo");
    const touches = "SELECT value FROM counterfoil_totals WHERE name = 'touches'";
    const touched = () => database.prepare(touches).get()?.["value"];
    expect(touched()).toBeUndefined();
    await work(() => undefined);
    expect(touched()).toBe(1);
    expect(() => database.exec("RELEASE counterfoil")).toThrow(/no such savepoint/);
    database.exec("COMMIT");
  });
});

describe("is refused", () => {
  let address: string;
  let app: App;
  beforeEach(async () => {
    address = (await ownDatabase()).address;
    app = defineApp({ store: sqlite(address), connections: [], effects: [] });
    onTestFinished(() => app.stop());
    await app.open();
  });

  const connection = (path = address): DatabaseSync => {
    const database = new DatabaseSync(path);
    onTestFinished(() => database.close());
    return database;
  };
  const work = (given: Parameters<App["within"]>[0]) => app.within(given).run({ tenant: "acme" }, () => "done");

  test("without a transaction", async () => {
    await expect(work(connection())).rejects.toMatchObject({ code: "TRANSACTION_CLOSED" });
  });

  test("on another file", async () => {
    const other = connection((await ownDatabase()).address);
    other.exec("BEGIN IMMEDIATE");
    await expect(work(other)).rejects.toMatchObject({ code: "STORE_UNSUPPORTED" });
  });

  test("on a connection that does not sync what it commits", async () => {
    const quick = connection();
    quick.exec("PRAGMA synchronous = NORMAL");
    quick.exec("BEGIN IMMEDIATE");
    await expect(work(quick)).rejects.toThrow(/does not sync what it commits/);
  });

  test("for a tool that is not node:sqlite", async () => {
    const client = fromPg({ query: async () => ({ rows: [], rowCount: 0 }) });
    await expect(work(client)).rejects.toThrow(/hand over your DatabaseSync/);
  });

  test("once the body has ended the transaction, and the savepoint with it", async () => {
    const database = connection();
    database.exec("BEGIN IMMEDIATE");
    const ended = app.within(database).run({ tenant: "acme" }, () => database.exec("COMMIT"));
    await expect(ended).rejects.toMatchObject({ code: "TRANSACTION_BROKEN" });
    database.exec("BEGIN IMMEDIATE");
    const another = app.within(database).run({ tenant: "acme" }, () => database.exec("COMMIT; BEGIN IMMEDIATE"));
    await expect(another).rejects.toMatchObject({ code: "TRANSACTION_BROKEN" });
    expect(database.isTransaction).toBe(true);
  });

  test("while another connection holds the lock, where the transaction was begun without it", async () => {
    const [writer, database] = [connection(), connection()];
    writer.exec("BEGIN IMMEDIATE");
    database.exec("BEGIN");
    const late = app.within(database).run({ tenant: "acme" }, ({ arrived }) => arrived("order", "1"));
    await expect(late).rejects.toMatchObject({ code: "STORE_BUSY" });
    writer.exec("COMMIT");
    await app.within(database).run({ tenant: "acme" }, ({ arrived }) => arrived("order", "1"));
    database.exec("COMMIT");
  });
});
