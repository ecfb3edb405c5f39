import { Client } from "pg";
import { expect, onTestFinished, test } from "vitest";
import { startPostgresPair } from "../../../test/support/postgres-pair.ts";
import { ask } from "../../../test/support/postgres-query.ts";
import { serverAt } from "../../../test/support/postgres.ts";
import { eventually } from "../../testing/eventually.ts";
import { commit } from "../conformance/bundle.conformance.ts";
import type { SnapshotHolder } from "../reader.ts";
import type { Store } from "../store.ts";
import { migratedDatabase, postgresBundle, type PostgresBundle, storeAt } from "./bundle.conformance.ts";

async function ownBundle(): Promise<PostgresBundle> {
  const bundle = await postgresBundle();
  onTestFinished(bundle.dispose);
  return bundle;
}

/** A connection under this name; what is open in it ends with the test. */
async function connection(url: string, name: string): Promise<Client> {
  const client = new Client({ connectionString: url, application_name: name });
  client.on("error", () => undefined);
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

async function holders({ reader }: Pick<Store, "reader">, name: string): Promise<readonly SnapshotHolder[]> {
  const { deadRows } = await reader.counts();
  return (deadRows?.keptBy ?? []).filter((holder) => holder.name.endsWith(name));
}

test("an open transaction that sees an old state, or has written, is told with its age until it ends", async () => {
  const { store, url } = await ownBundle();
  const [report, forgotten] = [await connection(url, "report"), await connection(url, "forgotten")];
  await report.query("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM counterfoil.receipts");
  await forgotten.query("BEGIN; SELECT pg_current_xact_id()");
  for (let n = 0; n < 3; n += 1) await commit(store, (tx) => tx.touch());
  const [found] = await holders(store, "report");
  expect(found).toMatchObject({ kind: "transaction", name: expect.stringMatching(/^process \d+, report$/) });
  expect(found!.transactions).toBeGreaterThanOrEqual(3);
  expect(Math.abs(Date.now() - found!.since!)).toBeLessThan(600_000);
  expect(await holders(store, "forgotten")).toHaveLength(1);
  await report.query("COMMIT");
  await forgotten.query("ROLLBACK");
  expect(await holders(store, "report")).toEqual([]);
  expect(await holders(store, "forgotten")).toEqual([]);
});

test("a connection that holds nothing is not told of, nor is one of another database", async () => {
  const { store, url } = await ownBundle();
  const elsewhere = await ownBundle();
  await (await connection(url, "idle")).query("SELECT 1");
  await (await connection(url, "waiting")).query("BEGIN; SELECT 1");
  const other = await connection(elsewhere.url, "elsewhere");
  await other.query("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM counterfoil.receipts");
  for (const name of ["idle", "waiting", "elsewhere"]) expect(await holders(store, name)).toEqual([]);
});

test("who may not know since when another role's transaction runs is told how old it is", async () => {
  const { url } = await ownBundle();
  const role = `reader_${process.pid}`;
  await ask(
    url,
    `CREATE ROLE ${role} LOGIN PASSWORD 'secret'; GRANT USAGE ON SCHEMA counterfoil TO ${role};
    GRANT SELECT ON ALL TABLES IN SCHEMA counterfoil TO ${role}`,
  );
  onTestFinished(async () => {
    await ask(url, `DROP OWNED BY ${role}; DROP ROLE ${role}`);
  });
  const restricted = new URL(url);
  restricted.username = role;
  restricted.password = "secret";
  const store = storeAt(restricted.href);
  onTestFinished(() => store.close());
  await store.open();
  const report = await connection(url, "report");
  await report.query("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM counterfoil.receipts");
  expect(await holders(store, "report")).toMatchObject([{ kind: "transaction", since: null }]);
});

test("dead rows are counted", async () => {
  const { store, url } = await ownBundle();
  const report = await connection(url, "report");
  await report.query("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM counterfoil.receipts");
  for (let n = 0; n < 20; n += 1) await commit(store, (tx) => tx.pauseDestination("https://a.test", `${n}`));
  const dead = async (): Promise<number> => (await store.reader.counts()).deadRows?.count ?? 0;
  // The server's statistics come a moment later.
  await eventually(async () => (await dead()) >= 15, { what: "dead rows in the statistics" });
});

test("a prepared transaction, and the slot of a replica that is gone, are told of", { timeout: 180_000 }, async () => {
  await using pair = await startPostgresPair({
    fsync: false,
    settings: { max_prepared_transactions: "5", wal_receiver_status_interval: "1s", hot_standby_feedback: "on" },
  });
  const { primary, replica } = pair;
  await using database = await migratedDatabase(await serverAt(primary.url("")));
  await using store = Object.assign(storeAt(database.url), {
    [Symbol.asyncDispose]: (): Promise<void> => store.close(),
  });
  await store.open();
  await ask(database.url, "BEGIN; SELECT pg_current_xact_id(); PREPARE TRANSACTION 'half done'");
  expect(await holders(store, "half done")).toMatchObject([{ kind: "prepared", since: expect.any(Number) }]);
  await ask(database.url, "ROLLBACK PREPARED 'half done'");
  expect(await holders(store, "half done")).toEqual([]);

  await ask(primary.url(), "SELECT pg_create_physical_replication_slot('gone')");
  await ask(replica.url(), "ALTER SYSTEM SET primary_slot_name = 'gone'");
  await ask(replica.url(), "SELECT pg_reload_conf()");
  const held = await eventually(async () => (await holders(store, "gone"))[0], { withinMs: 60_000, what: "the slot" });
  expect(held).toMatchObject({ kind: "slot", name: "gone", since: null });
  await ask(primary.url(), "ALTER SYSTEM RESET synchronous_standby_names");
  await ask(primary.url(), "SELECT pg_reload_conf()");
  await replica.kill();
  expect(await holders(store, "gone")).toHaveLength(1);
});
