/** What a body may leave behind, and how none of it reaches another. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { defaults } from "../../domain/limits.ts";
import { commit } from "../conformance/bundle.conformance.ts";
import { createNotes, note, notesOf } from "../conformance/transactions.conformance.ts";
import type { StoreTx } from "../store.ts";
import { poolAt, postgresBundle, type PostgresBundle, storeAt } from "./bundle.conformance.ts";

async function bundle(handlerMs = defaults.handlerMs): Promise<PostgresBundle> {
  const made = await postgresBundle();
  onTestFinished(made.dispose);
  await createNotes(made.store);
  await made.store.open({ ...defaults, handlerMs });
  return made;
}

test("an attempt that waits for something else is undone when its time is over, and the others are kept", async () => {
  const { store } = await bundle(100);
  const late: unknown[] = [];
  await commit(store, async (tx) => {
    await tx.attempt(() => note(tx, 1));
    const gone = Promise.withResolvers<void>();
    const waiting = tx.attempt(async () => {
      await note(tx, 2);
      await gone.promise;
      await note(tx, 3).catch((error: unknown) => late.push(error));
    });
    await expect(waiting).rejects.toMatchObject({ code: "HANDLER_UNFINISHED" });
    // The body goes on while the next attempt is open: it must not write into that one's savepoint.
    await tx.attempt(async () => {
      await note(tx, 4);
      gone.resolve();
      await expect.poll(() => late, { timeout: 30_000 }).toMatchObject([{ code: "TRANSACTION_CLOSED" }]);
    });
  });
  expect(await notesOf(store)).toEqual(["note 1", "note 4"]);
});

test("the time of statements is not counted", async () => {
  const { store } = await bundle(1_500);
  await commit(store, (tx) =>
    tx.attempt(async () => {
      await tx.run("SELECT pg_sleep(1)", []);
      await Promise.all([note(tx, 1), tx.run("SELECT pg_sleep(1)", []), note(tx, 2)]);
    }),
  );
  expect(await notesOf(store)).toHaveLength(2);
});

test("where the whole is bounded, statements count, and what is left bounds the later ones of that attempt", async () => {
  const { store } = await bundle();
  const boundMs = async (tx: StoreTx): Promise<number> => {
    const [row] = await tx.run("SELECT setting::int AS ms FROM pg_settings WHERE name = 'statement_timeout'", []);
    return Number(row?.["ms"]);
  };
  const bounds: number[] = [];
  const slow = async (tx: StoreTx): Promise<void> => {
    bounds.push(await boundMs(tx));
    await tx.run("SELECT pg_sleep(2.5)", []);
    bounds.push(await boundMs(tx));
  };
  await store.transaction(
    async (tx) => {
      await tx.attempt(() => slow(tx), { withinMs: 12_000 });
      const undone = tx.attempt(
        async () => {
          await slow(tx);
          throw new Error("undone");
        },
        { withinMs: 12_000 },
      );
      await expect(undone).rejects.toThrow("undone");
      bounds.push(await boundMs(tx));
      const endless = tx.attempt(() => tx.run("SELECT pg_sleep(1800)", []), { withinMs: 300 });
      await expect(endless).rejects.toMatchObject({ code: "HANDLER_UNFINISHED" });
    },
    { waitMs: 600_000, statementMs: 11_000 },
  );
  const [, first, , second] = bounds;
  expect(bounds).toEqual([11_000, first, 11_000, second, 11_000]);
  for (const left of [first, second]) expect(left).toBeLessThan(9_501);
});

test("a server that is quicker to end a statement than the client its timer is understood as the time that is over", async () => {
  const { store } = await bundle();
  await commit(store, async (tx) => {
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const endless = tx.attempt(() => tx.run("SELECT pg_sleep(1800)", []), { withinMs: 300 });
    await expect(endless).rejects.toMatchObject({ code: "HANDLER_UNFINISHED" });
    const nested = tx.attempt(() => tx.attempt(() => tx.run("SELECT pg_sleep(1800)", [])), { withinMs: 300 });
    await expect(nested).rejects.toMatchObject({ code: "HANDLER_UNFINISHED" });
    vi.useRealTimers();
  });
});

test("a statement that nobody awaits does not lengthen the time of who waits for something else", async () => {
  const { store } = await bundle(100);
  await commit(store, async (tx) => {
    const waiting = tx.attempt(async () => {
      void note(tx, 1);
      await new Promise(() => undefined);
    });
    await expect(waiting).rejects.toMatchObject({ code: "HANDLER_UNFINISHED" });
    await tx.attempt(() => note(tx, 2));
  });
  expect(await notesOf(store)).toEqual(["note 2"]);
});

test("a statement that nobody awaited belongs to its attempt, its failure too", async () => {
  const { store } = await bundle();
  await commit(store, async (tx) => {
    await tx.attempt(async () => void note(tx, 1));
    const failing = tx.attempt(async () => {
      await note(tx, 2);
      void note(tx, 1).catch(() => undefined);
    });
    await expect(failing).rejects.toMatchObject({ code: "23505" });
    void note(tx, 3);
  });
  expect(await notesOf(store)).toEqual(["note 1", "note 3"]);
});

test("a transaction whose floating statement fails is not committed", async () => {
  const { store } = await bundle();
  const failing = commit(store, async (tx) => {
    await note(tx, 1);
    void note(tx, 1).catch(() => undefined);
  });
  await expect(failing).rejects.toMatchObject({ code: "23505" });
  expect(await notesOf(store)).toEqual([]);
});

test("a body that swallows a failure has failed, and what it tries then is refused", async () => {
  const { store } = await bundle();
  await commit(store, async (tx) => {
    const swallowing = tx.attempt(async () => {
      await note(tx, 1);
      await note(tx, 1).catch(() => undefined);
      await expect(note(tx, 2)).rejects.toMatchObject({ code: "TRANSACTION_POISONED", cause: { code: "23505" } });
      await expect(tx.attempt(() => note(tx, 3))).rejects.toMatchObject({ code: "TRANSACTION_POISONED" });
      return "looks fine";
    });
    await expect(swallowing).rejects.toMatchObject({ code: "23505" });
  });
  expect(await notesOf(store)).toEqual([]);
});

test("attempts beside each other are undone, since the server has one stack of savepoints", async () => {
  const { store } = await bundle();
  await commit(store, async (tx) => {
    const started = Promise.withResolvers<void>();
    const first = tx.attempt(async () => {
      await note(tx, 1);
      await started.promise;
    });
    const second = tx.attempt(async () => {
      await note(tx, 2);
      started.resolve();
      await sleep(1);
      await note(tx, 3);
    });
    second.catch(() => undefined);
    await expect(first).rejects.toMatchObject({ code: "HANDLER_UNFINISHED" });
    await expect(second).rejects.toMatchObject({ code: "TRANSACTION_CLOSED" });
    await tx.attempt(() => note(tx, 4));
  });
  expect(await notesOf(store)).toEqual(["note 4"]);
});

test("an attempt without a statement of its own can be undone, and hold others", async () => {
  const { store } = await bundle();
  await commit(store, async (tx) => {
    expect(await tx.attempt(async () => tx.attempt(async () => 1))).toBe(1);
    await expect(tx.attempt(() => Promise.reject(new Error("mine")))).rejects.toThrow("mine");
    const outer = tx.attempt(async () => {
      await tx.attempt(() => note(tx, 1));
      throw new Error("outer");
    });
    await expect(outer).rejects.toThrow("outer");
    await tx.attempt(() => note(tx, 2));
  });
  expect(await notesOf(store)).toEqual(["note 2"]);
});

test("a deferred constraint that fails at COMMIT is COMMIT_REFUSED, and keeps nothing", async () => {
  const { store } = await bundle();
  const create = "CREATE TABLE replies (note int REFERENCES notes (id) DEFERRABLE INITIALLY DEFERRED)";
  await commit(store, (tx) => tx.run(create, []));
  const orphan = commit(store, async (tx) => {
    await tx.attempt(() => note(tx, 1));
    await tx.attempt(() => tx.run("INSERT INTO replies VALUES (99)", []));
  });
  await expect(orphan).rejects.toMatchObject({ code: "COMMIT_REFUSED", cause: { code: "23503" } });
  expect(await notesOf(store)).toEqual([]);
});

test("a statement of a user's that takes too long is its own failure, not the store's", async () => {
  const made = await postgresBundle();
  onTestFinished(made.dispose);
  const store = storeAt(made.url, { pool: poolAt(made.url, { deadlines: { statementMs: 100, commitMs: 30_000 } }) });
  onTestFinished(() => store.close());
  await store.open();
  await commit(store, async (tx) => {
    await expect(tx.attempt(() => tx.run("SELECT pg_sleep(60)", []))).rejects.toMatchObject({ code: "57014" });
    await tx.attempt(() => tx.touch());
  });
});
