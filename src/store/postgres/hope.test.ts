/** Transactions without savepoints: when they are tried, and what becomes of one that would have needed them. */
import { expect, onTestFinished, test } from "vitest";
import { createNotes, note, notesOf } from "../conformance/transactions.conformance.ts";
import type { StoreTx } from "../store.ts";
import { postgresBundle } from "./bundle.conformance.ts";

const waitMs = 5_000;

test("after enough transactions that kept all, one that undoes an attempt runs again, with savepoints", async () => {
  const { store, dispose } = await postgresBundle();
  onTestFinished(dispose);
  await createNotes(store);
  const hopefully = (body: (tx: StoreTx) => Promise<unknown>): Promise<unknown> =>
    store.transaction(body, { waitMs, hopeful: true });
  for (let n = 0; n < 64; n += 1) await hopefully((tx) => tx.attempt(() => note(tx, n)));
  const body = async (tx: StoreTx): Promise<void> => {
    await tx.attempt(() => note(tx, 100));
    const refusing = tx.attempt(async () => {
      await note(tx, 101);
      throw new Error("no");
    });
    await refusing.catch((error: unknown) => {
      if ((error as Error).message !== "no") throw error;
    });
    await tx.attempt(() => note(tx, 102));
  };
  await expect(hopefully(body)).rejects.toMatchObject({ code: "RACE_LOST" });
  expect(await notesOf(store)).toHaveLength(64);
  await hopefully(body);
  expect((await notesOf(store)).slice(64)).toEqual(["note 100", "note 102"]);
});

test("an attempt that sent nothing needs no savepoint to be undone", async () => {
  const { store, dispose } = await postgresBundle();
  onTestFinished(dispose);
  await createNotes(store);
  for (let n = 0; n < 65; n += 1) {
    const body = async (tx: StoreTx): Promise<void> => {
      const refusing = tx.attempt(() => Promise.reject(new Error("no")));
      await expect(refusing).rejects.toThrow("no");
      await tx.attempt(() => note(tx, n));
    };
    await store.transaction(body, { waitMs, hopeful: true });
  }
  expect(await notesOf(store)).toHaveLength(65);
});
