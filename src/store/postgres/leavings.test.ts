/** What a unit leaves on its connection meets neither the next unit of its transaction nor the next transaction. */
import { describe, expect, onTestFinished, test } from "vitest";
import { ask } from "../../../test/support/postgres-query.ts";
import { commit } from "../conformance/bundle.conformance.ts";
import type { Store, StoreTx } from "../store.ts";
import { poolAt, postgresBundle, storeAt } from "./bundle.conformance.ts";
import { mayLeave } from "./leavings.ts";
import type { NativeClient } from "./native.ts";

/** A store of one connection, which every transaction is on. */
async function narrow(): Promise<{ readonly store: Store; readonly url: string }> {
  const { url, dispose } = await postgresBundle();
  onTestFinished(dispose);
  const store = storeAt(url, { pool: { ...poolAt(url), connectionsMax: 1 } });
  await store.open();
  onTestFinished(() => store.close());
  await ask(url, "CREATE TABLE notes (id int PRIMARY KEY)");
  return { store, url };
}

const settings = "app.tenant, work_mem, search_path, lock_timeout, statement_timeout, synchronous_commit".split(", ");
const lookText = `SELECT current_user::text AS role, (SELECT count(*)::int FROM pg_cursors) AS cursors,
  (SELECT count(*)::int FROM pg_class WHERE relpersistence = 't') AS temporary,
  ${settings.map((name) => `coalesce(current_setting('${name}', true), '') AS "${name}"`).join(", ")}`;
const look = async (tx: StoreTx) => ({ ...(await tx.run(lookText, []))[0] });

const leaving: readonly (readonly [string, string])[] = [
  ["a setting of the session", "SELECT set_config('app.tenant', 'other', false)"],
  ["a setting of the transaction", "SELECT set_config('app.tenant', 'other', true)"],
  ["SET LOCAL", "SET LOCAL work_mem = '1MB'"],
  ["other bounds", "SET LOCAL statement_timeout = 1"],
  ["no bounds for locks", "SELECT set_config('lock_timeout', '0', true)"],
  ["commits that wait for no disk", "SET LOCAL synchronous_commit = off"],
  ["a search path", "DO $$ BEGIN PERFORM set_config('search_path', 'pg_catalog', false); END $$"],
  ["another role", "SET LOCAL ROLE pg_read_all_stats"],
  ["a temporary table", "CREATE TEMPORARY TABLE mine ON COMMIT PRESERVE ROWS AS SELECT 1 AS id"],
  ["a temporary table by another word", "SELECT 1 AS id INTO /* a table */ TEMP mine"],
  ["a temporary view", "CREATE OR REPLACE TEMP VIEW mine AS SELECT 1 AS id"],
  ["a table of the session's schema", "CREATE TABLE pg_temp.mine (id int)"],
  ["an open cursor", "DECLARE mine CURSOR FOR SELECT 1"],
];

describe.each([
  ["tx.sql", (tx: StoreTx, text: string): Promise<unknown> => tx.run(text, [])],
  ["tx.native", (tx: StoreTx, text: string): Promise<unknown> => (tx.native as NativeClient).query(text)],
])("by %s", (_, run) => {
  test.each(leaving)("%s is gone at the end of its unit", async (_name, text) => {
    const { store } = await narrow();
    const before = await commit(store, (tx) => tx.attempt(() => look(tx)));
    const [inside, next] = await commit(store, async (tx) => {
      const left = tx.attempt(async () => {
        await run(tx, text);
        // One that takes every statement its time is not looked at.
        return text.includes("timeout = 1") ? undefined : look(tx);
      });
      return [await left, await tx.attempt(() => look(tx))];
    });
    expect(inside).not.toEqual(before);
    // The transaction's own waits are counted down; what counts is that they have a bound again.
    const bounds = { lock_timeout: expect.stringMatching(/[1-9]/) as string };
    expect(next).toEqual({ ...before, ...bounds });
    await commit(store, async (tx) => void (await run(tx, text)));
    expect(await commit(store, (tx) => tx.attempt(() => look(tx)))).toEqual({ ...before, ...bounds });
  });
});

test("a unit that makes its transaction read-only is undone by a clear error, and the others are kept", async () => {
  const { store, url } = await narrow();
  const note = (id: number) => (tx: StoreTx) => tx.run(`INSERT INTO notes VALUES (${id})`, []);
  await commit(store, async (tx) => {
    await tx.attempt(() => note(1)(tx));
    const frozen = tx.attempt(async () => {
      await note(2)(tx);
      await tx.run("SELECT set_config('transaction_read_only', 'on', true)", []);
    });
    await expect(frozen).rejects.toMatchObject({ code: "TRANSACTION_CONTROL" });
    const writing = tx.attempt(async () => {
      await tx.run("SELECT set_config('transaction_read_only', 'on', true)", []);
      await note(3)(tx);
    });
    await expect(writing).rejects.toMatchObject({ code: "25006" });
    await tx.attempt(() => note(4)(tx));
  });
  expect(await ask(url, "SELECT id FROM notes ORDER BY id")).toEqual([{ id: 1 }, { id: 4 }]);
});

test("a setting lasts as long as the unit that made it", async () => {
  const { store } = await narrow();
  const tenant = await commit(store, (tx) =>
    tx.attempt(async () => {
      await tx.run("SELECT set_config('app.tenant', 'acme', true)", []);
      await tx.touch();
      return (await look(tx))["app.tenant"];
    }),
  );
  expect(tenant).toBe("acme");
});

test.each([
  "SELECT 1",
  "UPDATE readings SET temp = 1",
  "INSERT INTO settings VALUES ('a')",
  "SELECT temporary FROM set_of_rows",
  "-- SET LOCAL\nSELECT 1",
])("%j leaves nothing, and costs nothing", (text) => {
  expect(mayLeave(text)).toBe(false);
});
