import { expect, onTestFinished, test } from "vitest";
import { pgBouncer, startPgBouncer } from "../../../test/support/pgbouncer.ts";
import { ask, terminateBackends } from "../../../test/support/postgres-query.ts";
import { postgresServer } from "../../../test/support/postgres.ts";
import { eventually } from "../../testing/eventually.ts";
import { commit } from "../conformance/bundle.conformance.ts";
import { claimedId, obligationDraft, owedId, settledReceipt } from "../conformance/drafts.conformance.ts";
import type { News, Store } from "../store.ts";
import { migratedDatabase, poolAt, postgresBundle, storeAt } from "./bundle.conformance.ts";
import type { StoreOptions } from "./store.ts";

const listeners = (url: string) =>
  ask<{ pid: number }>(
    url,
    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'",
  );

/** What a store hears from now on; resolves once its connection listens. */
async function listening(store: Store, url: string): Promise<{ readonly news: News[]; readonly stop: () => void }> {
  const before = (await listeners(url)).length;
  const news: News[] = [];
  const stop = store.listen!((said) => void news.push(said));
  onTestFinished(stop);
  await eventually(async () => (await listeners(url)).length > before, { what: "a connection that listens" });
  return { news, stop };
}

const soon = { testEveryMs: 200, testWithinMs: 30_000 };

async function bundle(options: Partial<StoreOptions> = {}) {
  const made = await postgresBundle(options);
  onTestFinished(made.dispose);
  return made;
}

test("work that another process commits is heard, and what is undone or its own is not", async () => {
  const { store, other, url } = await bundle();
  const { news } = await listening(store, url);
  await owedId(store, { operationKey: "own" });
  const undone = commit(other, async (tx) => {
    await tx.owe([obligationDraft({ operationKey: "undone" })]);
    throw new Error("undone");
  });
  await expect(undone).rejects.toThrow("undone");
  await commit(other, (tx) => tx.touch());
  const id = await claimedId(other);
  const name = { kind: "order", id: "1" };
  const parked = { outcome: "parked", waitsFor: name } as const;
  await commit(other, (tx) => tx.settleReceipts([settledReceipt({ id, ...parked, dueAt: tx.now + 60_000 })]));
  await commit(other, (tx) => tx.arrive("acme", name));
  await eventually(() => news.length > 0, { what: "an arrival" });
  expect(news.splice(0)).toEqual([{ owed: false, arrived: true }]);
  await owedId(other);
  await eventually(() => news.length > 0, { what: "an obligation" });
  expect(news).toEqual([{ owed: true, arrived: false }]);
});

test("many commits at once are one or a few notifications", async () => {
  const { store, other, url } = await bundle();
  const { news } = await listening(store, url);
  await Promise.all(Array.from({ length: 50 }, (_, index) => owedId(other, { operationKey: `k${index}` })));
  await eventually(() => news.length > 0, { what: "news" });
  await other.close();
  expect(news.length).toBeLessThan(50);
});

test("two applications in one database hear nothing of each other", async () => {
  const { store, url } = await bundle();
  const second = storeAt(url, { schema: "second" });
  onTestFinished(async () => {
    await second.close();
    await ask(url, "DROP SCHEMA second CASCADE");
  });
  await second.migrate();
  await second.open();
  const first = await listening(store, url);
  const others = await listening(second, url);
  await owedId(second);
  await owedId(store);
  await second.close();
  await store.close();
  expect([first.news, others.news]).toEqual([[], []]);
});

test("a listener whose connection ends listens anew, and wakes for what it may have missed", async () => {
  const { store, other, url } = await bundle({ testing: soon });
  const { news } = await listening(store, url);
  expect(await terminateBackends(url, "query LIKE 'LISTEN%'")).toBe(1);
  await eventually(() => news.length > 0, { withinMs: 30_000, what: "another connection" });
  expect(news.splice(0)).toEqual([{ owed: true, arrived: true }]);
  await owedId(other);
  await eventually(() => news.length > 0, { what: "an obligation" });
});

test("who stops listening leaves no connection, and a store that is closed none either", async () => {
  const { store, other, url } = await bundle();
  const { stop } = await listening(store, url);
  await listening(other, url);
  expect(await listeners(url)).toHaveLength(2);
  stop();
  await other.close();
  await eventually(async () => (await listeners(url)).length === 0, { what: "the end of the listeners" });
});

test("a database that is away keeps nobody from listening later, and from stopping at once", async () => {
  const nowhere = storeAt("postgres://127.0.0.1:1/none", { pool: poolAt("postgres://127.0.0.1:1/none") });
  const news: News[] = [];
  const stop = nowhere.listen((said) => void news.push(said));
  stop();
  nowhere.listen((said) => void news.push(said));
  await nowhere.close();
  expect(news).toEqual([]);
});

test.runIf(pgBouncer)("behind a pooler nothing is heard, the test shows it, and a direct address helps", async () => {
  const server = await postgresServer();
  await using pooler = await startPgBouncer(server.url("postgres"));
  await using database = await migratedDatabase(server);
  const name = new URL(database.url).pathname.slice(1);
  const pool = poolAt(pooler.url(name));
  const testing = { testEveryMs: 200, testWithinMs: 300 };
  const [deaf, hearing] = [
    storeAt(database.url, { pool, testing }),
    storeAt(database.url, { pool, direct: { connectionString: database.url } }),
  ];
  await Promise.all([deaf.open(), hearing.open()]);
  const heard: News[] = [];
  deaf.listen((said) => void heard.push(said));
  const { news } = await listening(hearing, database.url);
  await owedId(deaf);
  await eventually(() => news.length > 0, { what: "an obligation" });
  expect(heard).toEqual([]);
  await Promise.all([deaf.close(), hearing.close()]);
});
