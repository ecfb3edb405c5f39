import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { StoreTx } from "../store.ts";
import { commit, eachBundle, type MakeBundle } from "./bundle.conformance.ts";
import { receiptDraft } from "./drafts.conformance.ts";
import { createNotes, note, notesOf } from "./transactions.conformance.ts";

/** Attempts: members of one transaction, each kept or undone by itself. */
export function exerciseAttempts(make: MakeBundle): void {
  describe("attempts", () => {
    const bundle = eachBundle(make);
    const boom = new Error("boom");

    test("an attempt that throws is undone, and the transaction goes on without it", async () => {
      const { store } = bundle();
      await createNotes(store);
      await commit(store, async (tx) => {
        await tx.attempt(() => note(tx, 1));
        const failing = tx.attempt(async () => {
          await note(tx, 2);
          await tx.claimReceipts([receiptDraft()]);
          throw boom;
        });
        await expect(failing).rejects.toBe(boom);
        expect(await tx.attempt(async () => note(tx, 3))).toMatchObject({ changes: 1 });
      });
      expect(await notesOf(store)).toEqual(["note 1", "note 3"]);
      expect(await store.reader.receipts({}, { limit: 1 })).toEqual([]);
    });

    test("an attempt after a failed statement can go on in the next one", async () => {
      const { store } = bundle();
      await createNotes(store);
      await commit(store, async (tx) => {
        await note(tx, 1);
        await expect(tx.attempt(() => note(tx, 1))).rejects.toThrow();
        await expect(tx.attempt(() => tx.run("SELECT nothing FROM nowhere", []))).rejects.toThrow();
        await tx.attempt(() => note(tx, 2));
      });
      expect(await notesOf(store)).toEqual(["note 1", "note 2"]);
    });

    test("attempts nest: the inner one is undone alone, the outer one with all it holds", async () => {
      const { store } = bundle();
      await createNotes(store);
      await commit(store, async (tx) => {
        await tx.attempt(async () => {
          await note(tx, 1);
          const inner = tx.attempt(async () => {
            await note(tx, 2);
            throw boom;
          });
          await expect(inner).rejects.toBe(boom);
          await tx.attempt(() => note(tx, 3));
        });
        const outer = tx.attempt(async () => {
          await tx.attempt(() => note(tx, 4));
          throw boom;
        });
        await expect(outer).rejects.toBe(boom);
      });
      expect(await notesOf(store)).toEqual(["note 1", "note 3"]);
    });

    test("a body that throws at once is undone like one that rejects", async () => {
      const { store } = bundle();
      await commit(store, async (tx) => {
        const failing = tx.attempt(() => {
          throw boom;
        });
        await expect(failing).rejects.toBe(boom);
      });
    });

    test("a body that waits for a timer is undone with an error that says why, and the others are kept", async ({
      skip,
    }) => {
      const { store } = bundle();
      if (!store.capabilities.handlersSettleAtOnce) return skip();
      await createNotes(store);
      const late: unknown[] = [];
      await commit(store, async (tx) => {
        await tx.attempt(() => note(tx, 1));
        const waiting = tx.attempt(async () => {
          await note(tx, 2);
          await sleep(1);
          await note(tx, 3).catch((error: unknown) => void late.push(error));
        });
        await expect(waiting).rejects.toMatchObject({ code: "HANDLER_UNFINISHED" });
        await expect(waiting).rejects.toThrow(/waits for something other than its transaction/);
        await tx.attempt(() => note(tx, 4));
      });
      await expect.poll(() => late).toMatchObject([{ code: "TRANSACTION_CLOSED" }]);
      expect(await notesOf(store)).toEqual(["note 1", "note 4"]);
    });

    test.for([
      ["a timer", (resolve) => setTimeout(resolve, 1)],
      ["an immediate", (resolve) => setImmediate(resolve)],
      ["a tick", (resolve) => process.nextTick(resolve)],
      ["nothing at all", () => undefined],
    ] satisfies [string, (resolve: () => void) => unknown][])(
      "a transaction whose body waits for %s is rolled back",
      async ([, wait], { skip }) => {
        const { store } = bundle();
        if (!store.capabilities.handlersSettleAtOnce) return skip();
        await createNotes(store);
        const waiting = commit(store, async (tx) => {
          await note(tx, 1);
          const { promise, resolve } = Promise.withResolvers<void>();
          wait(resolve);
          await promise;
        });
        await expect(waiting).rejects.toMatchObject({ code: "HANDLER_UNFINISHED" });
        expect(await notesOf(store)).toEqual([]);
      },
    );

    test("a body may take as many turns as it likes while it only waits for its transaction", async () => {
      const { store } = bundle();
      await createNotes(store);
      await commit(store, (tx) =>
        tx.attempt(async () => {
          for (let id = 0; id < 200; id += 1) await note(tx, id);
          for (let turn = 0; turn < 1_000; turn += 1) await Promise.resolve();
          await Promise.all([note(tx, 1_000), tx.run("SELECT 1 AS one", [])]);
        }),
      );
      expect(await notesOf(store)).toHaveLength(201);
    });

    test("an attempt that is left running beside its parent is undone with it", async ({ skip }) => {
      const { store } = bundle();
      if (!store.capabilities.handlersSettleAtOnce) return skip();
      await createNotes(store);
      await commit(store, async (tx) => {
        let left: Promise<unknown> | undefined;
        const leaving = tx.attempt(async () => {
          await note(tx, 1);
          left = tx.attempt(async () => {
            await note(tx, 2);
            for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
          });
          left.catch(() => undefined);
        });
        await expect(leaving).rejects.toMatchObject({ code: "HANDLER_UNFINISHED" });
        await expect(left).rejects.toMatchObject({ code: "TRANSACTION_CLOSED" });
      });
      expect(await notesOf(store)).toEqual([]);
    });

    test("nothing of another transaction comes between the statements of one", async () => {
      const { store } = bundle();
      await createNotes(store);
      const writer = (from: number) => async (tx: StoreTx) => {
        for (let id = from; id < from + 20; id += 1) {
          await note(tx, id);
          const rows = await tx.run("SELECT count(*) AS n FROM notes WHERE id >= ? AND id < ?", [0, 1_000]);
          expect(Number(rows[0]?.["n"]) % 20).toBe((id - from + 1) % 20);
        }
      };
      await Promise.all([0, 20, 40, 60].map((from) => commit(store, writer(from))));
      expect(await notesOf(store)).toHaveLength(80);
    });
  });
}
