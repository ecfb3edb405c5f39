import type { DatabaseSync } from "node:sqlite";
import { DatabaseSync as Driver } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { commit } from "../conformance/bundle.conformance.ts";
import type { StoreTx } from "../store.ts";
import { sqliteBundle } from "./bundle.conformance.ts";

async function withNotes() {
  const bundle = await sqliteBundle();
  onTestFinished(bundle.dispose);
  await commit(bundle.store, (tx) => tx.run("CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT UNIQUE)", []));
  const bodies = async () =>
    (await commit(bundle.store, (tx) => tx.run("SELECT body FROM notes ORDER BY id", []))).map(({ body }) => body);
  return { ...bundle, bodies };
}

const nativeOf = (tx: StoreTx) => tx.native as DatabaseSync;
const note = (native: DatabaseSync, body: string) => native.prepare("INSERT INTO notes (body) VALUES (?)").run(body);

/** What ORMs do: BEGIN, the work, COMMIT or ROLLBACK. */
function ormTransaction(native: DatabaseSync, work: () => void): void {
  native.exec("BEGIN");
  try {
    work();
    native.exec("COMMIT");
  } catch (error) {
    native.exec("ROLLBACK");
    throw error;
  }
}

test("an ORM's COMMIT does not commit the engine's transaction", async () => {
  const { store, bodies } = await withNotes();
  const failing = commit(store, async (tx) => {
    ormTransaction(nativeOf(tx), () => note(nativeOf(tx), "orm"));
    throw new Error("after");
  });
  await expect(failing).rejects.toThrow("after");
  expect(await bodies()).toEqual([]);
});

test("an ORM's ROLLBACK undoes what it began and nothing more, however deep", async () => {
  const { store, bodies } = await withNotes();
  await commit(store, async (tx) => {
    const native = nativeOf(tx);
    note(native, "before");
    expect(() =>
      ormTransaction(native, () => {
        note(native, "undone");
        throw new Error("orm");
      }),
    ).toThrow("orm");
    ormTransaction(native, () => {
      note(native, "outer");
      expect(() =>
        ormTransaction(native, () => {
          note(native, "inner");
          throw new Error("inner");
        }),
      ).toThrow("inner");
    });
  });
  expect(await bodies()).toEqual(["before", "outer"]);
});

test("prepared BEGIN and COMMIT, and an ORM's own savepoints, work as well", async () => {
  const { store, bodies } = await withNotes();
  await commit(store, async (tx) => {
    const native = nativeOf(tx);
    const [begin, end] = [native.prepare("begin immediate"), native.prepare("COMMIT;")];
    begin.run();
    note(native, "kept");
    native.exec('SAVEPOINT "sp1"');
    note(native, "undone");
    native.exec("rollback to savepoint SP1");
    note(native, "again");
    native.exec("RELEASE sp1");
    end.run();
    expect(native.prepare("SELECT count(*) AS n FROM notes").get()).toMatchObject({ n: 2 });
  });
  expect(await bodies()).toEqual(["kept", "again"]);
});

test("control that began nothing is refused", async () => {
  const { store, bodies } = await withNotes();
  await commit(store, async (tx) => {
    for (const text of [
      "COMMIT",
      "ROLLBACK",
      "RELEASE counterfoil_1",
      "ROLLBACK TO counterfoil_1",
      "END TRANSACTION",
    ]) {
      const attempt = tx.attempt(async () => {
        note(nativeOf(tx), text);
        nativeOf(tx).exec(text);
      });
      await expect(attempt).rejects.toMatchObject({ code: "TRANSACTION_CONTROL" });
    }
  });
  expect(await bodies()).toEqual([]);
});

test.for([
  "INSERT INTO notes (body) VALUES ('a'); COMMIT; INSERT INTO notes (body) VALUES ('b')",
  "\uFEFF;; -- c\n /* d */ ; COMMIT; SELECT 1",
  "PRAGMA foreign_keys = OFF",
  "ATTACH 'other.db' AS other",
  "DETACH main",
])("the script %j is refused, and its attempt undone", async (script) => {
  const { store, bodies } = await withNotes();
  await commit(store, async (tx) => {
    const attempt = tx.attempt(async () => nativeOf(tx).exec(script));
    await expect(attempt).rejects.toMatchObject({ code: "TRANSACTION_CONTROL" });
    // What was refused once is not approved by having been seen.
    await expect(tx.attempt(async () => nativeOf(tx).exec(script))).rejects.toMatchObject({
      code: "TRANSACTION_CONTROL",
    });
  });
  expect(await bodies()).toEqual([]);
});

test("a script without control runs as a whole", async () => {
  const { store, bodies } = await withNotes();
  const script = `INSERT INTO notes (body) VALUES ('a; COMMIT');
    CREATE TRIGGER loud AFTER INSERT ON notes BEGIN UPDATE notes SET body = upper(body) WHERE id = NEW.id; END;
    INSERT INTO notes (body) VALUES ('b'); -- COMMIT`;
  await commit(store, async (tx) => nativeOf(tx).exec(script));
  expect(await bodies()).toEqual(["a; COMMIT", "B"]);
});

test("a transaction that an ORM began and left open undoes its attempt", async () => {
  const { store, bodies } = await withNotes();
  await commit(store, async (tx) => {
    const leaving = tx.attempt(async () => {
      nativeOf(tx).exec("BEGIN");
      note(nativeOf(tx), "left");
    });
    await expect(leaving).rejects.toMatchObject({ code: "TRANSACTION_CONTROL" });
    await tx.attempt(async () => note(nativeOf(tx), "next"));
  });
  expect(await bodies()).toEqual(["next"]);
});

test.for([
  "close",
  "open",
  "setAuthorizer",
  "loadExtension",
  "createSession",
  "enableDefensive",
  "deserialize",
] as const)("%s is refused", async (method) => {
  const { store } = await withNotes();
  await commit(store, async (tx) => {
    const call = nativeOf(tx)[method] as unknown as () => void;
    expect(() => call()).toThrow(expect.objectContaining({ code: "TRANSACTION_CONTROL" }));
  });
});

test("the handle and its statements are dead once their scope has ended, also for a late body", async () => {
  const { store, bodies } = await withNotes();
  const late: unknown[] = [];
  await commit(store, async (tx) => {
    const waiting = tx.attempt(async () => {
      const native = nativeOf(tx);
      const insert = native.prepare("INSERT INTO notes (body) VALUES (?)");
      await sleep(1);
      for (const use of [
        () => insert.run("late"),
        () => native.exec("DELETE FROM notes"),
        () => native.prepare("SELECT 1"),
      ]) {
        try {
          use();
        } catch (error) {
          late.push(error);
        }
      }
    });
    await expect(waiting).rejects.toMatchObject({ code: "HANDLER_UNFINISHED" });
    await tx.attempt(async () => note(nativeOf(tx), "kept"));
  });
  const closed = { code: "TRANSACTION_CLOSED" };
  await expect.poll(() => late).toMatchObject([closed, closed, closed]);
  expect(await bodies()).toEqual(["kept"]);
});

test("the handle of one attempt is dead in the next, although the transaction is open", async () => {
  const { store, bodies } = await withNotes();
  await commit(store, async (tx) => {
    let left: DatabaseSync | undefined;
    await tx.attempt(async () => {
      left = nativeOf(tx);
      note(left, "mine");
    });
    await tx.attempt(async () => {
      expect(() => note(left!, "not mine")).toThrow(expect.objectContaining({ code: "TRANSACTION_CLOSED" }));
    });
  });
  expect(await bodies()).toEqual(["mine"]);
});

test("an iterator that is left open holds nothing back", async () => {
  const { store, bodies } = await withNotes();
  await commit(store, async (tx) => {
    for (const body of ["a", "b", "c"]) note(nativeOf(tx), body);
    const rows = nativeOf(tx).prepare("SELECT body FROM notes").iterate();
    expect(rows.next().value).toMatchObject({ body: "a" });
  });
  await commit(store, async (tx) => note(nativeOf(tx), "d"));
  expect(await bodies()).toHaveLength(4);
});

test("a failed statement poisons the handle, as on any engine, until a rollback before it", async () => {
  const { store, bodies } = await withNotes();
  const poisoned = { code: "TRANSACTION_POISONED" };
  await commit(store, async (tx) => {
    const swallowing = tx.attempt(async () => {
      note(nativeOf(tx), "once");
      expect(() => note(nativeOf(tx), "once")).toThrow(/UNIQUE/);
      expect(() => note(nativeOf(tx), "twice")).toThrow(expect.objectContaining(poisoned));
    });
    await expect(swallowing).rejects.toThrow(/UNIQUE/);
    await tx.attempt(async () => {
      note(nativeOf(tx), "first");
      expect(() => ormTransaction(nativeOf(tx), () => note(nativeOf(tx), "first"))).toThrow(/UNIQUE/);
      note(nativeOf(tx), "second");
    });
  });
  expect(await bodies()).toEqual(["first", "second"]);
});

test("it is the driver's own class, with functions and reads as usual", async () => {
  const { store } = await withNotes();
  await commit(store, async (tx) => {
    const native = nativeOf(tx);
    expect(native).toBeInstanceOf(Driver);
    expect(native.isTransaction).toBe(true);
    native.function("twice", (value) => Number(value) * 2);
    const statement = native.prepare("SELECT 42 AS answer, twice(21) AS twice");
    statement.setReadBigInts(true);
    expect(statement.get()).toMatchObject({ answer: 42n, twice: 42 });
    expect(statement.sourceSQL).toContain("twice");
  });
});
