import { describe, expect, test } from "vitest";
import type { Store, StoreTx } from "../store.ts";
import { commit, eachBundle, type MakeBundle } from "./bundle.conformance.ts";
import { receiptDraft } from "./drafts.conformance.ts";

const insert = "INSERT INTO notes (id, body) VALUES (?, ?)";

/** Makes the table that these tests write to, as an application has its own. */
export async function createNotes(store: Store): Promise<void> {
  await commit(store, (tx) => tx.run("CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT UNIQUE)", []));
}

/** The bodies that are kept, in order. */
export async function notesOf(store: Store): Promise<readonly unknown[]> {
  const rows = await commit(store, (tx) => tx.run("SELECT body FROM notes ORDER BY id", []));
  return rows.map(({ body }) => body);
}

export function note(tx: StoreTx, id: number, body = `note ${id}`): ReturnType<StoreTx["run"]> {
  return tx.run(insert, [id, body]);
}

/** Transactions and attempts: kept whole or undone whole. */
export function exerciseTransactions(make: MakeBundle): void {
  describe("transactions", () => {
    const bundle = eachBundle(make);
    const boom = new Error("boom");

    test("what a body did is kept when it resolves, and seen by the other handle", async () => {
      const { store, other } = bundle();
      await createNotes(store);
      expect(
        await commit(store, async (tx) => {
          await note(tx, 1);
          await tx.claimReceipts([receiptDraft()]);
          return "value";
        }),
      ).toBe("value");
      expect(await notesOf(other)).toEqual(["note 1"]);
      expect(await other.reader.receipts({}, { limit: 1 })).toHaveLength(1);
    });

    test("a body that throws undoes everything, its table included, and its error comes out as it is", async () => {
      const { store, other } = bundle();
      const failing = commit(store, async (tx) => {
        await tx.run("CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT)", []);
        await note(tx, 1);
        await tx.claimReceipts([receiptDraft()]);
        throw boom;
      });
      await expect(failing).rejects.toBe(boom);
      expect(await other.reader.receipts({}, { limit: 1 })).toEqual([]);
      await createNotes(other);
    });

    test("a body that throws before its first promise is undone as well", async () => {
      const { store } = bundle();
      const failing = store.transaction(
        () => {
          throw boom;
        },
        { waitMs: 1_000 },
      );
      await expect(failing).rejects.toBe(boom);
      expect(await commit(store, async () => "next")).toBe("next");
    });

    test("transactions of one handle run one after the other, none lost", async () => {
      const { store } = bundle();
      await createNotes(store);
      const writing = Array.from({ length: 30 }, (_, id) => commit(store, (tx) => note(tx, id)));
      await Promise.all(writing);
      expect(await notesOf(store)).toHaveLength(30);
    });

    test("read and write in one transaction never fails for another writer", async () => {
      const { store, other } = bundle();
      await createNotes(store);
      await commit(store, (tx) => note(tx, 0, "0"));
      const increment = async (tx: StoreTx): Promise<void> => {
        await tx.run("UPDATE notes SET body = body WHERE id = 0", []);
        const [row] = await tx.run("SELECT body FROM notes WHERE id = 0", []);
        await tx.run("UPDATE notes SET body = ? WHERE id = 0", [String(Number(row?.["body"]) + 1)]);
      };
      await Promise.all(Array.from({ length: 40 }, (_, index) => commit(index % 2 ? store : other, increment)));
      expect(await notesOf(store)).toEqual(["40"]);
    });

    test("every instant of a transaction is the same reading of the store's clock", async () => {
      const { store, clock } = bundle();
      const first = await commit(store, async (tx) => {
        const { stamp } = tx;
        await tx.claimReceipts([receiptDraft()]);
        expect(tx.stamp).toEqual(stamp);
        expect(tx.now).toBe(stamp.wallMs);
        return stamp;
      });
      clock.advance(1_234);
      const second = await commit(store, async (tx) => tx.stamp);
      expect(second.wallMs - first.wallMs).toBeGreaterThanOrEqual(1_234);
      expect(second.monotonicMs - first.monotonicMs).toBeGreaterThanOrEqual(1_234);
      expect(second.bootId).toBe(first.bootId);
    });

    test("a touch is a commit like any", async () => {
      const { store, other } = bundle();
      await commit(store, (tx) => tx.touch());
      await commit(other, (tx) => tx.touch());
      expect(await store.reader.counts()).toMatchObject({ deliveries: 0, receipts: {} });
    });

    test("a closed store refuses, after what was under way has ended", async () => {
      const { store, other } = bundle();
      await createNotes(store);
      const writing = commit(store, (tx) => note(tx, 1));
      await store.close();
      await writing;
      await expect(commit(store, (tx) => note(tx, 2))).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
      await expect(store.reader.counts()).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
      expect(await notesOf(other)).toEqual(["note 1"]);
      await store.open();
      expect(await notesOf(store)).toEqual(["note 1"]);
    });

    test("a transaction inside another of the same store is refused, and both are told", async () => {
      const { store } = bundle();
      await createNotes(store);
      const nested = commit(store, async (tx) => {
        await note(tx, 1);
        await commit(store, (inner) => note(inner, 2));
      });
      await expect(nested).rejects.toMatchObject({ code: "TRANSACTION_CONTROL" });
      expect(await notesOf(store)).toEqual([]);
    });

    test("a transaction that is used after its end says so and does nothing", async () => {
      const { store } = bundle();
      await createNotes(store);
      let left: StoreTx | undefined;
      await commit(store, async (tx) => void (left = tx));
      await expect(note(left!, 1)).rejects.toMatchObject({ code: "TRANSACTION_CLOSED" });
      await expect(left!.claimReceipts([receiptDraft()])).rejects.toMatchObject({ code: "TRANSACTION_CLOSED" });
      await expect(left!.attempt(async () => 1)).rejects.toMatchObject({ code: "TRANSACTION_CLOSED" });
      expect(await notesOf(store)).toEqual([]);
    });
  });
}
