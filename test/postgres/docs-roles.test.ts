import { readFileSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { commit } from "../../src/store/conformance/bundle.conformance.ts";
import { claimedId, claimedObligation, moveOf, snapshotDraft } from "../../src/store/conformance/drafts.conformance.ts";
import { storeAt } from "../../src/store/postgres/bundle.conformance.ts";
import type { Store } from "../../src/store/store.ts";
import { ask } from "../support/postgres-query.ts";
import { postgresServer } from "../support/postgres.ts";

const page = readFileSync(new URL("../../docs/postgresql.md", import.meta.url), "utf8");

test("with the roles that the docs make, one migrates, and the other receives, works and looks, and can do no more", async () => {
  const database = await (await postgresServer()).createDatabase();
  onTestFinished(() => database[Symbol.asyncDispose]());
  const [, text = ""] = /```sql run\n([^`]+)```/u.exec(page) ?? [];
  // Roles are the whole server's.
  const [owner, user] = [`${database.name}_owner`, `${database.name}_app`];
  await ask(database.url, text.replaceAll("shop_owner", owner).replaceAll("shop_app", user));
  onTestFinished(async () => {
    await ask(database.url, `DROP OWNED BY ${user}, ${owner}; DROP ROLE ${user}, ${owner}`);
  });
  const as = async (role: string): Promise<Store> => {
    await ask(database.url, `ALTER ROLE ${role} PASSWORD 'secret'`);
    const url = new URL(database.url);
    Object.assign(url, { username: role, password: "secret" });
    const store = storeAt(url.href);
    onTestFinished(() => store.close());
    return store;
  };
  await (await as(owner)).migrate();
  const store = await as(user);
  await store.open();
  const receiptId = await claimedId(store);
  await commit(store, (tx) => tx.recordRedeliveries([{ receiptId, mismatch: null }]));
  await commit(store, (tx) => tx.lockNames("acme", [{ kind: "order", id: "1" }]));
  await commit(store, (tx) => tx.snapshot(snapshotDraft()));
  await commit(store, (tx) => tx.seeWorker({ name: "w", effects: [], forgetMs: 1 }));
  await commit(store, (tx) => tx.leaveWorker("w"));
  await commit(store, (tx) => tx.expireBytes(10));
  await commit(store, (tx) => tx.touch());
  const claim = await claimedObligation(store);
  expect(await commit(store, (tx) => tx.move([moveOf(claim, { state: "done" })]))).toEqual([true]);
  expect(await store.reader.counts()).toMatchObject({ receipts: { applied: 1 }, obligations: { done: 1 } });
  expect(await store.reader.attention({ limit: 10 })).toEqual([]);
  await expect(commit(store, (tx) => tx.run("DROP TABLE counterfoil.receipts", []))).rejects.toThrow(/must be owner/);
});
