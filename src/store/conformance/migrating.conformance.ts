import { describe, expect, test } from "vitest";
import { commit, eachBundle, type MakeBundle } from "./bundle.conformance.ts";
import { receiptDraft } from "./drafts.conformance.ts";

/** Bringing a database's schema up to date. */
export function exerciseMigrating(make: MakeBundle): void {
  describe("migrating", () => {
    const bundle = eachBundle(make);

    test("a store without its schema does not open, and says what to run", async () => {
      const [store, other] = await bundle().unmigrated();
      await expect(store.open()).rejects.toMatchObject({ code: "SCHEMA_OUTDATED" });
      await expect(store.open()).rejects.toThrow(/counterfoil migrate/);
      await expect(commit(store, (tx) => tx.claimReceipts([receiptDraft()]))).rejects.toMatchObject({
        code: "STORE_UNAVAILABLE",
      });
      expect((await store.migrate()).length).toBeGreaterThan(0);
      await store.open();
      await other.open();
      expect(await commit(other, (tx) => tx.claimReceipts([receiptDraft()]))).toMatchObject([{ kind: "fresh" }]);
      await Promise.all([store.close(), other.close()]);
    });

    test("migrating again runs nothing and keeps what is there", async () => {
      const { store } = bundle();
      await commit(store, (tx) => tx.claimReceipts([receiptDraft()]));
      expect(await store.migrate()).toEqual([]);
      expect(await store.reader.receipts({}, { limit: 10 })).toHaveLength(1);
    });

    test("of two handles that migrate at once, one does the work", async () => {
      const [store, other] = await bundle().unmigrated();
      const [first, second] = await Promise.all([store.migrate(), other.migrate()]);
      expect([first, second].filter((ran) => ran.length > 0)).toHaveLength(1);
      await Promise.all([store.open(), other.open()]);
      await Promise.all([store.close(), other.close()]);
    });
  });
}
