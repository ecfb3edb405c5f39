/** What SQLite can do to a transaction from within, and how none of it reaches the other members. */
import { expect, onTestFinished, test } from "vitest";
import { commit } from "../conformance/bundle.conformance.ts";
import { receiptDraft } from "../conformance/drafts.conformance.ts";
import type { StoreTx } from "../store.ts";
import { sqliteBundle } from "./bundle.conformance.ts";

async function withNotes(...more: readonly string[]) {
  const bundle = await sqliteBundle();
  onTestFinished(bundle.dispose);
  await commit(bundle.store, async (tx) => {
    await tx.run("CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT)", []);
    for (const text of more) await tx.run(text, []);
  });
  const bodies = async () =>
    (await commit(bundle.store, (tx) => tx.run("SELECT body FROM notes ORDER BY id", []))).map(({ body }) => body);
  return { ...bundle, bodies };
}

const note = (tx: StoreTx, body: string) => tx.run("INSERT INTO notes (body) VALUES (?)", [body]);

const tripwire = `CREATE TRIGGER tripwire BEFORE INSERT ON notes WHEN NEW.body = 'trip'
  BEGIN SELECT RAISE(ROLLBACK, 'tripped'); END`;

test("RAISE(ROLLBACK) in one member breaks the transaction: no member is kept, and none commits alone", async () => {
  const { store, bodies } = await withNotes(tripwire);
  const ran: string[] = [];
  const group = commit(store, async (tx) => {
    await tx.attempt(() => note(tx, "first"));
    ran.push(await tx.attempt(() => note(tx, "trip")).catch((error) => error.code));
    ran.push(await tx.attempt(() => note(tx, "third")).catch((error) => error.code));
    ran.push(await tx.claimReceipts([receiptDraft()]).catch((error) => error.code));
  });
  await expect(group).rejects.toMatchObject({ code: "TRANSACTION_BROKEN" });
  expect(ran).toEqual(["TRANSACTION_BROKEN", "TRANSACTION_BROKEN", "TRANSACTION_BROKEN"]);
  expect(await bodies()).toEqual([]);
  expect(await store.reader.receipts({}, { limit: 1 })).toEqual([]);
});

test("a member that swallows RAISE(ROLLBACK) and writes on writes nothing", async () => {
  const { store, bodies } = await withNotes(tripwire);
  const group = commit(store, (tx) =>
    tx.attempt(async () => {
      await note(tx, "trip").catch(() => undefined);
      await note(tx, "after").catch(() => undefined);
      return "looks fine";
    }),
  );
  await expect(group).rejects.toMatchObject({ code: "TRANSACTION_BROKEN" });
  expect(await bodies()).toEqual([]);
});

test("INSERT OR ROLLBACK breaks the transaction like RAISE(ROLLBACK)", async () => {
  const { store, bodies } = await withNotes();
  const group = commit(store, async (tx) => {
    await tx.run("INSERT INTO notes (id, body) VALUES (1, 'first')", []);
    await tx.run("INSERT OR ROLLBACK INTO notes (id, body) VALUES (1, 'second')", []);
  });
  await expect(group).rejects.toMatchObject({ code: "TRANSACTION_BROKEN" });
  expect(await bodies()).toEqual([]);
});

test("a deferred constraint that fails at COMMIT is COMMIT_REFUSED, keeps nothing, and the store goes on", async () => {
  const { store, bodies } = await withNotes(
    "CREATE TABLE replies (note INTEGER REFERENCES notes (id) DEFERRABLE INITIALLY DEFERRED)",
  );
  const orphan = commit(store, async (tx) => {
    await note(tx, "kept by nobody");
    await tx.attempt(() => tx.run("INSERT INTO replies (note) VALUES (99)", []));
  });
  await expect(orphan).rejects.toMatchObject({ code: "COMMIT_REFUSED" });
  expect(await bodies()).toEqual([]);
  await commit(store, (tx) => note(tx, "next"));
  expect(await bodies()).toEqual(["next"]);
});

test("a failed statement of its own keeps its own error for the handler", async () => {
  const { store } = await withNotes();
  const writing = commit(store, (tx) => tx.run("INSERT INTO notes (id, body) VALUES (1, 'a'), (1, 'b')", []));
  await expect(writing).rejects.toMatchObject({ code: "ERR_SQLITE_ERROR", errcode: 1555 });
});
