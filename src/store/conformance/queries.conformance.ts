import { describe, expect, test } from "vitest";
import type { SqlValue } from "../../domain/sql.ts";
import type { StoreTx } from "../store.ts";
import { commit, eachBundle, type MakeBundle } from "./bundle.conformance.ts";
import { createNotes, note, notesOf } from "./transactions.conformance.ts";

type Tag = (text: TemplateStringsArray, ...values: readonly SqlValue[]) => ReturnType<StoreTx["query"]>;

/** The tag that users write their statements with. */
function tagOf(tx: StoreTx): Tag {
  return (text, ...values) => tx.query(text, values);
}

/** Users' statements: values bound, rows and changes given, control refused. */
export function exerciseQueries(make: MakeBundle): void {
  describe("queries", () => {
    const bundle = eachBundle(make);

    test("rows and the number of changed rows come back", async () => {
      const { store } = bundle();
      await createNotes(store);
      await commit(store, async (tx) => {
        expect((await tagOf(tx)`INSERT INTO notes (id, body) VALUES (${1}, ${"a"}), (${2}, ${"b"})`).changes).toBe(2);
        const updated = await tagOf(tx)`UPDATE notes SET body = ${"c"} WHERE id = ${2} RETURNING id, body`;
        expect(updated.map((row) => ({ ...row }))).toEqual([{ id: 2, body: "c" }]);
        expect(updated.changes).toBe(1);
        const selected = await tagOf(tx)`SELECT id, body FROM notes WHERE id > ${0} ORDER BY id`;
        expect(selected.map(({ body }) => body)).toEqual(["a", "c"]);
        expect((await tagOf(tx)`UPDATE notes SET body = ${"d"} WHERE id = ${9}`).changes).toBe(0);
        expect((await tagOf(tx)`DELETE FROM notes`).changes).toBe(2);
      });
    });

    test("a statement that changes no rows says so, whatever ran before it", async () => {
      const { store } = bundle();
      await createNotes(store);
      await commit(store, async (tx) => {
        await note(tx, 1);
        expect((await tx.run("CREATE TABLE more (id INTEGER PRIMARY KEY)", [])).changes).toBe(0);
        expect((await tx.run("SELECT id FROM notes", [])).changes).toBe(0);
      });
    });

    test("several statements in one text are refused, and none of them is run", async () => {
      const { store } = bundle();
      await createNotes(store);
      await commit(store, async (tx) => {
        const two = "INSERT INTO notes (id, body) VALUES (?, 'a'); DELETE FROM notes";
        await expect(tx.attempt(() => tx.run(two, [1]))).rejects.toThrow();
        await tx.attempt(() => tx.run("INSERT INTO notes (id, body) VALUES (?, 'b') ; -- the end", [2]));
      });
      expect(await notesOf(store)).toEqual(["b"]);
    });

    test("values are bound, never spliced", async () => {
      const { store } = bundle();
      await createNotes(store);
      const hostile = `'); DROP TABLE notes; -- " \\ ? $1 %s é 💶 \n`;
      await commit(store, (tx) => tagOf(tx)`INSERT INTO notes (id, body) VALUES (${1}, ${hostile})`);
      expect(await notesOf(store)).toEqual([hostile]);
    });

    test("a text that was built runs with a question mark for each value", async () => {
      const { store } = bundle();
      await createNotes(store);
      await commit(store, async (tx) => {
        expect((await note(tx, 1, "a ? b")).changes).toBe(1);
        const rows = await tx.run("SELECT body FROM notes WHERE id = ? AND body = ?", [1, "a ? b"]);
        expect(rows).toHaveLength(1);
      });
    });

    test("integers come back exactly: as numbers when safe, else as bigint", async () => {
      const { store } = bundle();
      await commit(store, (tx) => tx.run("CREATE TABLE facts (id INTEGER PRIMARY KEY, amount BIGINT)", []));
      const amounts = [0, -1, 42, Number.MAX_SAFE_INTEGER, 9_007_199_254_740_993n, -9_223_372_036_854_775_808n];
      await commit(store, async (tx) => {
        for (const [id, amount] of amounts.entries()) await tagOf(tx)`INSERT INTO facts VALUES (${id}, ${amount})`;
        const rows = await tagOf(tx)`SELECT amount FROM facts ORDER BY id`;
        expect(rows.map(({ amount }) => amount)).toEqual(amounts);
      });
    });

    test("null, text and bytes come back as they went in", async () => {
      const { store } = bundle();
      const bytes = Uint8Array.of(0, 255, 10, 39);
      await commit(store, async (tx) => {
        await tx.run("CREATE TABLE things (id INTEGER PRIMARY KEY, body TEXT, raw BYTEA)", []);
        await tagOf(tx)`INSERT INTO things VALUES (${1}, ${null}, ${bytes})`;
        const [row] = await tagOf(tx)`SELECT body, raw FROM things`;
        expect(row?.["body"]).toBeNull();
        expect(Uint8Array.from(row?.["raw"] as Uint8Array)).toEqual(bytes);
      });
    });

    test("undefined is refused with an error that names the parameter", async () => {
      const { store } = bundle();
      await createNotes(store);
      const absent = undefined as unknown as SqlValue;
      const writing = commit(store, (tx) => tagOf(tx)`INSERT INTO notes (id, body) VALUES (${1}, ${absent})`);
      await expect(writing).rejects.toThrow(TypeError);
      await expect(writing).rejects.toThrow(/parameter 2/);
      expect(await notesOf(store)).toEqual([]);
    });

    test.for([
      "COMMIT",
      "commit transaction",
      "END",
      "ROLLBACK",
      "  \n-- now\n/* really */ COMMIT",
      "BEGIN",
      "SAVEPOINT mine",
      "RELEASE mine",
      "ROLLBACK TO mine",
    ])("%j in a statement is refused, and nothing of the transaction is lost or kept by it", async (text) => {
      const { store } = bundle();
      await createNotes(store);
      await commit(store, async (tx) => {
        await tx.attempt(() => note(tx, 1));
        const controlling = tx.attempt(async () => {
          await note(tx, 2);
          await tx.run(text, []);
        });
        await expect(controlling).rejects.toMatchObject({ code: "TRANSACTION_CONTROL" });
        await tx.attempt(() => note(tx, 3));
      });
      expect(await notesOf(store)).toEqual(["note 1", "note 3"]);
    });
  });
}
