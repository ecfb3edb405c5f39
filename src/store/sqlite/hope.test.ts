/** What SQLite can tell of an attempt without a savepoint: whether there is anything to undo. */
import type { DatabaseSync } from "node:sqlite";
import { beforeEach, expect, test } from "vitest";
import { eachBundle } from "../conformance/bundle.conformance.ts";
import { createNotes, note, notesOf } from "../conformance/transactions.conformance.ts";
import type { StoreTx } from "../store.ts";
import { sqliteBundle } from "./bundle.conformance.ts";

const bundle = eachBundle(sqliteBundle);

function hopefully<T>(body: (tx: StoreTx) => Promise<T>): Promise<T> {
  return bundle().store.transaction(body, { waitMs: 5_000, hopeful: true });
}

function refusing(work: (tx: StoreTx) => Promise<unknown>): Promise<void> {
  return hopefully(async (tx) => {
    const attempt = tx.attempt(async () => {
      await work(tx);
      throw new Error("no");
    });
    await attempt.catch((error: unknown) => {
      if ((error as Error).message !== "no") throw error;
    });
    await note(tx, 100);
  });
}

beforeEach(async () => {
  const { store } = bundle();
  await createNotes(store);
  await store.transaction((tx) => tx.run("CREATE VIEW shown AS SELECT id, body FROM notes", []), { waitMs: 5_000 });
  const trigger = `CREATE TRIGGER shown_insert INSTEAD OF INSERT ON shown
    BEGIN INSERT INTO notes VALUES (new.id, new.body); END`;
  await store.transaction((tx) => tx.run(trigger, []), { waitMs: 5_000 });
  for (let n = 0; n < 64; n += 1) await hopefully((tx) => tx.attempt(() => note(tx, n)));
});

test.for<[string, (tx: StoreTx) => Promise<unknown>]>([
  ["reads", (tx) => tx.run("SELECT * FROM notes", [])],
  ["changes no row", (tx) => tx.run("UPDATE notes SET body = 'x' WHERE id = -1", [])],
  ["inserts nothing", (tx) => tx.run("INSERT INTO notes VALUES (1, 'x') ON CONFLICT DO NOTHING", [])],
])("an attempt that only %s is refused without a second run", async ([, work]) => {
  await refusing(work);
  expect(await notesOf(bundle().store)).toHaveLength(65);
});

test.for<[string, (tx: StoreTx) => Promise<unknown>]>([
  ["a row", (tx) => note(tx, 101)],
  ["a row behind a view, by its trigger", (tx) => tx.run("INSERT INTO shown VALUES (101, 'x')", [])],
  ["all rows", (tx) => tx.run("DELETE FROM notes", [])],
  ["the schema", (tx) => tx.run("CREATE TABLE other AS SELECT * FROM notes", [])],
  ["something by the driver's own handle", async (tx) => (tx.native as DatabaseSync).exec("CREATE TABLE other (id)")],
])("an attempt that changed %s takes the transaction with it, and is undone by the second run", async ([, work]) => {
  await expect(refusing(work)).rejects.toMatchObject({ code: "RACE_LOST" });
  await refusing(work);
  expect(await notesOf(bundle().store)).toHaveLength(65);
  const tables = await bundle().store.transaction(
    (tx) => tx.run("SELECT name FROM sqlite_schema WHERE name = 'other'", []),
    { waitMs: 5_000 },
  );
  expect(tables).toHaveLength(0);
});
