import { beforeEach, describe, expect, test } from "vitest";
import type { StoreTx } from "../store.ts";
import { eachBundle, type MakeBundle } from "./bundle.conformance.ts";
import { createNotes, note, notesOf } from "./transactions.conformance.ts";

/** Transactions without savepoints: when they are tried, and what becomes of one that would have needed them. */
export function exerciseHope(make: MakeBundle): void {
  describe("hopeful transactions", () => {
    const bundle = eachBundle(make);
    const hopefully = <T>(body: (tx: StoreTx) => Promise<T>): Promise<T> =>
      bundle().store.transaction(body, { waitMs: 5_000, hopeful: true });
    const kept = (): Promise<readonly unknown[]> => notesOf(bundle().store).then((notes) => notes.slice(64));
    const refused = async (attempt: Promise<unknown>): Promise<void> => {
      await attempt.catch((error: unknown) => {
        if ((error as Error).message !== "no") throw error;
      });
    };

    beforeEach(async () => {
      await createNotes(bundle().store);
      for (let n = 0; n < 64; n += 1) await hopefully((tx) => tx.attempt(() => note(tx, n)));
    });

    test("after enough that kept all, one that undoes an attempt runs again, with savepoints", async () => {
      const body = async (tx: StoreTx): Promise<void> => {
        await tx.attempt(() => note(tx, 100));
        const refusing = tx.attempt(async () => {
          await note(tx, 101);
          throw new Error("no");
        });
        await refused(refusing);
        await tx.attempt(() => note(tx, 102));
      };
      await expect(hopefully(body)).rejects.toMatchObject({ code: "RACE_LOST" });
      expect(await kept()).toEqual([]);
      await hopefully(body);
      expect(await kept()).toEqual(["note 100", "note 102"]);
    });

    test("a body that makes nothing of it still loses the whole", async () => {
      const body = async (tx: StoreTx): Promise<void> => {
        const refusing = tx.attempt(async () => {
          await note(tx, 100);
          throw new Error("no");
        });
        await refusing.catch(() => undefined);
      };
      await expect(hopefully(body)).rejects.toMatchObject({ code: "RACE_LOST" });
      expect(await kept()).toEqual([]);
    });

    test("an attempt that sent nothing needs no savepoint to be undone", async () => {
      for (let n = 100; n < 102; n += 1) {
        await hopefully(async (tx) => {
          await refused(tx.attempt(() => Promise.reject(new Error("no"))));
          await tx.attempt(() => note(tx, n));
        });
      }
      expect(await kept()).toEqual(["note 100", "note 101"]);
    });

    test("an attempt inside another is undone by itself", async () => {
      await hopefully((tx) =>
        tx.attempt(async () => {
          await note(tx, 100);
          const refusing = tx.attempt(async () => {
            await note(tx, 101);
            throw new Error("no");
          });
          await refused(refusing);
          await note(tx, 102);
        }),
      );
      expect(await kept()).toEqual(["note 100", "note 102"]);
    });
  });
}
