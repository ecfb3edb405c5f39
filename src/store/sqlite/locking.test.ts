import { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { receiptDraft } from "../conformance/drafts.conformance.ts";
import { sqliteBundle, storeAt, temporaryFolder } from "./bundle.conformance.ts";

/** A store, and a connection of somebody else's on its file. */
async function shared() {
  const bundle = await sqliteBundle();
  const stranger = new DatabaseSync(bundle.path);
  onTestFinished(async () => {
    stranger.close();
    await bundle.dispose();
  });
  return { ...bundle, stranger };
}

test("a lock that somebody keeps is STORE_BUSY once the wait is over, and nothing is lost by it", async () => {
  const { store, stranger } = await shared();
  stranger.exec("BEGIN IMMEDIATE");
  await expect(store.transaction(async () => 1, { waitMs: 100 })).rejects.toMatchObject({ code: "STORE_BUSY" });
  stranger.exec("COMMIT");
  expect(await store.transaction(async () => 2, { waitMs: 30_000 })).toBe(2);
});

test("the event loop goes on during the wait, so that who holds the lock can give it back", async () => {
  const { store, stranger } = await shared();
  stranger.exec("BEGIN IMMEDIATE");
  const waiting = store.transaction((tx) => tx.claimReceipts([receiptDraft()]), { waitMs: 30_000 });
  // The first try has failed by then.
  for (let turn = 0; turn < 100; turn += 1) await setImmediate();
  stranger.exec("COMMIT");
  expect(await waiting).toMatchObject([{ kind: "fresh" }]);
});

test("a wait for one's turn counts as well, and nobody is let in late", async () => {
  const { store, stranger } = await shared();
  stranger.exec("BEGIN IMMEDIATE");
  const ran: number[] = [];
  const waiting = [400, 200].map((waitMs) => store.transaction(async () => ran.push(waitMs), { waitMs }));
  const codes = (await Promise.allSettled(waiting)).map((result) => result.status === "rejected" && result.reason.code);
  expect(codes).toEqual(["STORE_BUSY", "STORE_BUSY"]);
  stranger.exec("COMMIT");
  await store.transaction(async () => ran.push(0), { waitMs: 30_000 });
  expect(ran).toEqual([0]);
});

test("transactions get their turn in the order in which they asked", async () => {
  const { store } = await shared();
  const order: number[] = [];
  const asking = Array.from({ length: 20 }, (_, index) =>
    store.transaction(async () => order.push(index), { waitMs: 30_000 }),
  );
  await Promise.all(asking);
  expect(order).toEqual(Array.from({ length: 20 }, (_, index) => index));
});

test("a stranger's open read delays nobody", async () => {
  const { store, stranger } = await shared();
  stranger.exec("BEGIN");
  stranger.prepare("SELECT count(*) FROM counterfoil_receipts").get();
  expect(await store.transaction((tx) => tx.claimReceipts([receiptDraft()]), { waitMs: 30_000 })).toMatchObject([
    { kind: "fresh" },
  ]);
  stranger.exec("COMMIT");
});

test("stores that are opened at once on a file that does not exist all come to open", async () => {
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  const stores = Array.from({ length: 6 }, () => storeAt(`${folder.path}/new.db`));
  await Promise.all(stores.map((store) => store.migrate()));
  await Promise.all(stores.map((store) => store.open()));
  const claiming = stores.map((store) =>
    store.transaction((tx) => tx.claimReceipts([receiptDraft()]), { waitMs: 30_000 }),
  );
  const kinds = (await Promise.all(claiming)).map(([claimed]) => claimed?.kind);
  expect(kinds.filter((kind) => kind === "fresh")).toHaveLength(1);
  await Promise.all(stores.map((store) => store.close()));
});
