import { expect, onTestFinished, test } from "vitest";
import { ask } from "../../../test/support/postgres-query.ts";
import { migratedDatabase, poolAt } from "./bundle.conformance.ts";
import { Connections } from "./connections.ts";

async function connections(connectionsMax = 1) {
  const database = await migratedDatabase();
  const pool = new Connections(poolAt(database.url, { connectionsMax }));
  onTestFinished(async () => {
    await pool.close();
    await database[Symbol.asyncDispose]();
  });
  return { pool, url: database.url };
}

test("COMMIT of a failed transaction, which the server answers without an error, is no commit", async () => {
  const { pool } = await connections();
  const session = await pool.take(30_000);
  await session.send({ text: "BEGIN" }, "begin");
  await session.send({ text: "SELECT nothing" }, "statement").catch(() => undefined);
  const refused = session.commit();
  await expect(refused).rejects.toMatchObject({ code: "TRANSACTION_BROKEN" });
  await expect(refused).rejects.toThrow(/carried out ROLLBACK/);
  session.release();
});

test("statements are sent without waiting, and each has its own answer in order", async () => {
  const { pool } = await connections();
  const session = await pool.take(30_000);
  await session.send({ text: "BEGIN" }, "begin");
  session.prepend("SAVEPOINT one");
  const asked = [1, 2, 3].map((n) => session.send({ text: "SELECT $1::int AS n", values: [n] }, "statement"));
  await session.idle();
  expect((await Promise.all(asked)).map(({ rows }) => rows)).toEqual([[{ n: 1 }], [{ n: 2 }], [{ n: 3 }]]);
  await session.rollBack();
  session.release();
});

test("a connection that is given back inside of a transaction is ended, and its transaction with it", async () => {
  const { pool, url } = await connections();
  const session = await pool.take(30_000);
  await session.send({ text: "BEGIN" }, "begin");
  await session.send({ text: "CREATE TABLE left_behind (id int)" }, "statement");
  session.release();
  const next = await pool.take(30_000);
  const found = await next.send({ text: "SELECT to_regclass('left_behind') AS found" }, "statement");
  expect(found.rows).toEqual([{ found: null }]);
  next.release();
  expect(await ask(url, "SELECT to_regclass('left_behind') AS found")).toEqual([{ found: null }]);
});

test("after an error, also of BEGIN's own message, a connection goes back outside of a transaction", async () => {
  const { pool } = await connections();
  const session = await pool.take(30_000);
  await session.send({ text: "BEGIN; SELECT nothing" }, "begin").catch(() => undefined);
  await session.rollBack();
  session.release();
  const next = await pool.take(30_000);
  const { rows } = await next.send({ text: "SELECT now() = statement_timestamp() AS alone" }, "statement");
  expect(rows).toEqual([{ alone: true }]);
  next.release();
});
