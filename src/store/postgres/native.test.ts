import { expect, onTestFinished, test } from "vitest";
import { commit } from "../conformance/bundle.conformance.ts";
import type { StoreTx } from "../store.ts";
import { postgresBundle } from "./bundle.conformance.ts";
import type { NativeClient } from "./native.ts";

async function withNotes() {
  const bundle = await postgresBundle();
  onTestFinished(bundle.dispose);
  await commit(bundle.store, (tx) =>
    tx.run("CREATE TABLE notes (id int GENERATED ALWAYS AS IDENTITY, body text UNIQUE)", []),
  );
  const bodies = async () =>
    (await commit(bundle.store, (tx) => tx.run("SELECT body FROM notes ORDER BY id", []))).map(({ body }) => body);
  return { ...bundle, bodies };
}

const nativeOf = (tx: StoreTx) => tx.native as NativeClient;
const note = (native: NativeClient, body: string) => native.query("INSERT INTO notes (body) VALUES ($1)", [body]);

/** What ORMs do: BEGIN, the work, COMMIT or ROLLBACK. */
async function ormTransaction(native: NativeClient, work: () => Promise<unknown>): Promise<void> {
  await native.query("begin");
  try {
    await work();
    await native.query("commit");
  } catch (error) {
    await native.query("rollback");
    throw error;
  }
}

test("an ORM's COMMIT does not commit the engine's transaction", async () => {
  const { store, bodies } = await withNotes();
  const failing = commit(store, async (tx) => {
    await ormTransaction(nativeOf(tx), () => note(nativeOf(tx), "orm"));
    throw new Error("after");
  });
  await expect(failing).rejects.toThrow("after");
  expect(await bodies()).toEqual([]);
});

test("an ORM's ROLLBACK undoes what it began and nothing more, however deep", async () => {
  const { store, bodies } = await withNotes();
  await commit(store, async (tx) => {
    const native = nativeOf(tx);
    await note(native, "before");
    const failing = ormTransaction(native, async () => {
      await note(native, "undone");
      throw new Error("orm");
    });
    await expect(failing).rejects.toThrow("orm");
    await ormTransaction(native, async () => {
      await note(native, "outer");
      const inner = ormTransaction(native, async () => {
        await note(native, "inner");
        throw new Error("inner");
      });
      await expect(inner).rejects.toThrow("inner");
    });
  });
  expect(await bodies()).toEqual(["before", "outer"]);
});

test("an ORM's own savepoints work as well, also where nothing is awaited in between", async () => {
  const { store, bodies } = await withNotes();
  await commit(store, async (tx) => {
    const native = nativeOf(tx);
    await Promise.all([
      native.query("START TRANSACTION"),
      note(native, "kept"),
      native.query('SAVEPOINT "sp1"'),
      note(native, "undone"),
      native.query('rollback to savepoint "sp1"'),
      note(native, "again"),
      native.query('RELEASE "sp1"'),
      native.query({ text: "COMMIT;" }),
    ]);
    expect((await native.query("SELECT count(*)::int AS n FROM notes")).rows).toEqual([{ n: 2 }]);
  });
  expect(await bodies()).toEqual(["kept", "again"]);
});

test.for(["COMMIT", "ROLLBACK", "RELEASE counterfoil_1", "ROLLBACK TO counterfoil_1", "END", "COMMIT AND CHAIN"])(
  "%j that began nothing is refused, and its attempt undone, also where the refusal is swallowed",
  async (text) => {
    const { store, bodies } = await withNotes();
    await commit(store, async (tx) => {
      for (const swallow of [false, true]) {
        const attempt = tx.attempt(async () => {
          await note(nativeOf(tx), text);
          const refused = nativeOf(tx).query(text);
          await (swallow ? refused.catch(() => undefined) : refused);
        });
        await expect(attempt).rejects.toMatchObject({ code: "TRANSACTION_CONTROL" });
      }
    });
    expect(await bodies()).toEqual([]);
  },
);

test.for([
  "INSERT INTO notes (body) VALUES ('a'); COMMIT; INSERT INTO notes (body) VALUES ('b')",
  "SELECT 1; COMMIT",
  "SELECT $$;$$; END",
])("the script %j is refused by the server, which takes one statement, and its attempt is undone", async (script) => {
  const { store, bodies } = await withNotes();
  await commit(store, async (tx) => {
    const attempt = tx.attempt(async () => nativeOf(tx).query(script));
    await expect(attempt).rejects.toMatchObject({ code: "42601" });
  });
  expect(await bodies()).toEqual([]);
});

test("a procedure cannot commit either", async () => {
  const { store, bodies } = await withNotes();
  await commit(store, async (tx) => {
    const committing = "DO $$ BEGIN INSERT INTO notes (body) VALUES ('a'); COMMIT; END $$";
    await expect(tx.attempt(() => nativeOf(tx).query(committing))).rejects.toMatchObject({ code: "2D000" });
  });
  expect(await bodies()).toEqual([]);
});

test("a transaction that an ORM began and left open undoes its attempt", async () => {
  const { store, bodies } = await withNotes();
  await commit(store, async (tx) => {
    const leaving = tx.attempt(async () => {
      await nativeOf(tx).query("BEGIN");
      await note(nativeOf(tx), "left");
    });
    await expect(leaving).rejects.toMatchObject({ code: "TRANSACTION_CONTROL" });
    await tx.attempt(() => note(nativeOf(tx), "next"));
  });
  expect(await bodies()).toEqual(["next"]);
});

test("the handle of one attempt is dead in the next, although the transaction is open", async () => {
  const { store, bodies } = await withNotes();
  await commit(store, async (tx) => {
    let left: NativeClient | undefined;
    await tx.attempt(async () => {
      left = nativeOf(tx);
      await note(left, "mine");
    });
    await tx.attempt(async () => {
      await expect(note(left!, "not mine")).rejects.toMatchObject({ code: "TRANSACTION_CLOSED" });
      await expect(left!.query("ROLLBACK")).rejects.toMatchObject({ code: "TRANSACTION_CLOSED" });
    });
  });
  expect(await bodies()).toEqual(["mine"]);
});

test("a statement that nobody awaited is part of its attempt, and one that comes later of none", async () => {
  const { store, bodies } = await withNotes();
  await commit(store, async (tx) => {
    const ended = Promise.withResolvers<void>();
    let late: Promise<unknown> | undefined;
    await tx.attempt(async () => {
      const native = nativeOf(tx);
      void note(native, "floating");
      late = ended.promise.then(() => note(native, "late"));
    });
    ended.resolve();
    await expect(late).rejects.toMatchObject({ code: "TRANSACTION_CLOSED" });
  });
  expect(await bodies()).toEqual(["floating"]);
});

test("a failed statement poisons the handle until a rollback before it", async () => {
  const { store, bodies } = await withNotes();
  await commit(store, async (tx) => {
    const swallowing = tx.attempt(async () => {
      await note(nativeOf(tx), "once");
      await expect(note(nativeOf(tx), "once")).rejects.toMatchObject({ code: "23505" });
      await expect(note(nativeOf(tx), "twice")).rejects.toMatchObject({ code: "TRANSACTION_POISONED" });
    });
    await expect(swallowing).rejects.toMatchObject({ code: "23505" });
    await tx.attempt(async () => {
      await note(nativeOf(tx), "first");
      const failing = ormTransaction(nativeOf(tx), () => note(nativeOf(tx), "first"));
      await expect(failing).rejects.toMatchObject({ code: "23505" });
      await note(nativeOf(tx), "second");
    });
  });
  expect(await bodies()).toEqual(["first", "second"]);
});

test("a rollback to a savepoint that was set after the failure mends nothing", async () => {
  const { store, bodies } = await withNotes();
  await commit(store, async (tx) => {
    const mending = tx.attempt(async () => {
      const native = nativeOf(tx);
      await native.query("BEGIN");
      await native.query("SAVEPOINT inner");
      await expect(native.query("SELECT nothing")).rejects.toMatchObject({ code: "42703" });
      await expect(native.query("RELEASE inner")).rejects.toMatchObject({ code: "TRANSACTION_POISONED" });
    });
    await expect(mending).rejects.toMatchObject({ code: "42703" });
  });
  expect(await bodies()).toEqual([]);
});

test("what is sent behind a failure tells of the failure, not of the server's state", async () => {
  const { store } = await withNotes();
  await commit(store, async (tx) => {
    const attempt = tx.attempt(async () => {
      const results = await Promise.allSettled([nativeOf(tx).query("SELECT nothing"), nativeOf(tx).query("SELECT 1")]);
      expect(results).toMatchObject([{ reason: { code: "42703" } }, { reason: { code: "TRANSACTION_POISONED" } }]);
    });
    await expect(attempt).rejects.toMatchObject({ code: "42703" });
  });
});

test("it is used as a client, as a pool, and with what ORMs put into a query", async () => {
  const { store } = await withNotes();
  await commit(store, async (tx) => {
    const client = await nativeOf(tx).connect();
    const query = { name: "stmt_1", text: "SELECT $1::int AS n, 1::int8 AS big", rowMode: "array" as const };
    expect((await client.query(query, [7])).rows).toEqual([[7, "1"]]);
    const result = await client.query({ text: "SELECT $1::int AS n", values: [7] });
    expect(result).toMatchObject({ command: "SELECT", rowCount: 1, rows: [{ n: 7 }], fields: [{ name: "n" }] });
    client.release();
    expect((await nativeOf(tx).query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
  });
});

test("a callback and a query object of its own are mistakes that are named", async () => {
  const { store } = await withNotes();
  await commit(store, async (tx) => {
    const native = nativeOf(tx);
    await expect(native.query("SELECT 1", (() => undefined) as never)).rejects.toThrow(TypeError);
    await expect(native.query({ submit: () => undefined } as never)).rejects.toThrow(/await it/);
  });
});
