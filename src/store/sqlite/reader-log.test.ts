import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { commit } from "../conformance/bundle.conformance.ts";
import type { LogSize } from "../reader.ts";
import { sqliteBundle, storeAt } from "./bundle.conformance.ts";

test("a log that a reader keeps from starting over grows, and is all there but copied", async () => {
  const { path, store, dispose } = await sqliteBundle({ logBytes: 64 * 1024 });
  onTestFinished(dispose);
  const reader = new DatabaseSync(path, { readOnly: true });
  onTestFinished(() => reader.close());
  reader.exec("BEGIN; SELECT count(*) FROM counterfoil_receipts");
  const log = async (): Promise<LogSize> => (await store.reader.counts()).log!;
  const before = await log();
  for (let n = 0; n < 200; n += 1) await commit(store, (tx) => tx.touch());
  const held = await log();
  expect(held.bytes).toBeGreaterThan(before.bytes + 200 * 2048);
  expect(held.uncopiedBytes).toBeGreaterThan(200 * 2048);
  reader.exec("COMMIT");
  using other = new DatabaseSync(path);
  other.exec("PRAGMA wal_checkpoint(PASSIVE)");
  expect(await log()).toEqual({ bytes: held.bytes, uncopiedBytes: 0 });
});

test("a store in memory has no log", async () => {
  const store = storeAt(":memory:");
  onTestFinished(() => store.close());
  await store.migrate();
  await store.open();
  expect(await store.reader.counts()).not.toHaveProperty("log");
});
