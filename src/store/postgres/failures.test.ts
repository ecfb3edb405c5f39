/** Connections, servers and networks that fail at any step: each with its code, and the store goes on by itself. */
import { execFileSync } from "node:child_process";
import { chownSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startPostgresPair } from "../../../test/support/postgres-pair.ts";
import { startPostgres } from "../../../test/support/postgres-process.ts";
import { ask, terminateBackends } from "../../../test/support/postgres-query.ts";
import { postgresServer } from "../../../test/support/postgres.ts";
import { unprivileged } from "../../../test/support/unprivileged.ts";
import { eventually } from "../../testing/eventually.ts";
import { type FaultProxy, startFaultProxy } from "../../testing/fault-proxy.ts";
import { commit } from "../conformance/bundle.conformance.ts";
import { claimedId, receiptDraft } from "../conformance/drafts.conformance.ts";
import type { Store, StoreTx } from "../store.ts";
import { migratedDatabase, poolAt, postgresBundle, storeAt } from "./bundle.conformance.ts";
import type { StoreOptions } from "./store.ts";

const claim = (eventId: string) => (tx: StoreTx) => tx.claimReceipts([receiptDraft({ eventId })]);

async function bundle() {
  const made = await postgresBundle();
  onTestFinished(made.dispose);
  return made;
}

/** An open store at an address, closed with the test. */
async function opened(url: string, pool: Partial<StoreOptions["pool"]> = {}): Promise<Store> {
  const store = storeAt(url, { pool: poolAt(url, pool) });
  onTestFinished(() => store.close());
  await store.open();
  return store;
}

/** A store whose bytes go through a proxy, and the database behind it. */
async function proxied(pool: Partial<StoreOptions["pool"]> = {}) {
  const database = await migratedDatabase();
  onTestFinished(() => database[Symbol.asyncDispose]());
  const target = new URL(database.url);
  const proxy = await startFaultProxy({ targetPort: Number(target.port) });
  onTestFinished(() => proxy.close());
  target.port = String(proxy.port);
  return { proxy, url: database.url, store: await opened(target.href, pool) };
}

const idsAt = async (url: string) =>
  (await ask<{ event_id: string }>(url, "SELECT event_id FROM counterfoil.receipts ORDER BY id")).map(
    (row) => row.event_id,
  );

test("a backend that is ended in mid-transaction is STORE_UNAVAILABLE, and leaves nothing", async () => {
  const { store, url } = await bundle();
  const refused: unknown[] = [];
  const broken = commit(store, async (tx) => {
    await tx.attempt(() => claim("evt_1")(tx));
    await terminateBackends(url, "state LIKE 'idle in transaction%'");
    const attempt = tx.attempt(() => claim("evt_2")(tx));
    refused.push(await attempt.catch((error: unknown) => error), await tx.touch().catch((error: unknown) => error));
  });
  await expect(broken).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  const gone = { code: "TRANSACTION_BROKEN", cause: { code: "STORE_UNAVAILABLE" } };
  expect(refused).toMatchObject([gone, gone]);
  await claimedId(store);
  expect(await idsAt(url)).toEqual(["evt_1"]);
});

test("idle connections that are ended are replaced, without anybody hearing of it", async () => {
  const { store, url } = await bundle();
  await Promise.all(["1", "2", "3"].map((eventId) => commit(store, claim(eventId))));
  await eventually(async () => (await terminateBackends(url, "state = 'idle'")) === 0, {
    what: "the end of all idle backends",
  });
  await claimedId(store, { eventId: "4" });
  expect(await store.reader.counts()).toMatchObject({ deliveries: 4 });
});

test("a server that stops and starts again is STORE_UNAVAILABLE meanwhile, and then used as before", async () => {
  await using server = await startPostgres({ fsync: false });
  const migrating = storeAt(server.url());
  await migrating.migrate();
  await migrating.close();
  const store = await opened(server.url());
  await claimedId(store, { eventId: "1" });
  await server.stop();
  await expect(claimedId(store, { eventId: "lost" })).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  await expect(store.reader.counts()).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  await server.start();
  await claimedId(store, { eventId: "2" });
  await server.kill();
  await expect(claimedId(store, { eventId: "lost" })).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  await server.start();
  await claimedId(store, { eventId: "3" });
  expect(await idsAt(server.url())).toEqual(["1", "2", "3"]);
  await store.close();
});

test("a server that hangs is given up once the deadlines are over, and used again once it goes on", async () => {
  await using server = await startPostgres({ fsync: false });
  const migrating = storeAt(server.url());
  await migrating.migrate();
  await migrating.close();
  const store = await opened(server.url(), { deadlines: { statementMs: 1_000, commitMs: 1_000 }, connectMs: 1_000 });
  await claimedId(store, { eventId: "1" });
  const hanging = commit(store, async (tx) => {
    server.pause();
    await claim("lost")(tx);
  });
  await expect(hanging).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  await expect(claimedId(store, { eventId: "lost" })).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  server.resume();
  await eventually(() => claimedId(store, { eventId: "2" }).catch(() => false), { what: "a commit" });
  expect(await idsAt(server.url())).toEqual(["1", "2"]);
  await store.close();
});

test.for([
  ["lost on its way back", { kind: "reset", direction: "reply", afterBytes: 0 }, "known"],
  ["waited for in vain", { kind: "drop-reply" }, "known"],
  ["never asked for: COMMIT was lost", { kind: "reset", direction: "request", afterBytes: 0 }, "fresh"],
] as const)("an answer to COMMIT that is %s is COMMIT_UNKNOWN, and the receipt decides", async ([, mode, kind]) => {
  const { proxy, store, url } = await proxied({ deadlines: { statementMs: 30_000, commitMs: 500 } });
  const lost = commit(store, async (tx) => {
    await claim("evt_1")(tx);
    proxy.setMode(mode);
  });
  await expect(lost).rejects.toMatchObject({ code: "COMMIT_UNKNOWN" });
  proxy.setMode({ kind: "pass" });
  // A session whose client is gone rolls back once the server notices; the next copy waits for that.
  expect(await commit(store, claim("evt_1"))).toMatchObject([{ kind }]);
  expect(await idsAt(url)).toEqual(["evt_1"]);
});

test.for([
  ["a reset", (proxy: FaultProxy) => proxy.resetConnections()],
  ["a black hole", (proxy: FaultProxy) => proxy.setMode({ kind: "stall" })],
] as const)("%s inside of a transaction is STORE_UNAVAILABLE: nothing was to be kept", async ([, fail]) => {
  const { proxy, store, url } = await proxied({
    deadlines: { statementMs: 1_000, commitMs: 30_000 },
    connectMs: 1_000,
  });
  const failing = commit(store, async (tx) => {
    await claim("lost")(tx);
    fail(proxy);
    await tx.touch();
  });
  await expect(failing).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  proxy.setMode({ kind: "pass" });
  await eventually(() => claimedId(store, { eventId: "next" }).catch(() => false), { what: "a commit" });
  expect(await idsAt(url)).toEqual(["next"]);
});

test("a transaction that cannot begin is given up when the wait for it is over, whatever the other deadlines", async () => {
  const hour = 3_600_000;
  const { proxy, store } = await proxied({ deadlines: { statementMs: hour, commitMs: hour }, connectMs: hour });
  await claimedId(store, { eventId: "before" });
  proxy.setMode({ kind: "stall" });
  // The first has a connection that was good before, the next one has to make another.
  for (let n = 0; n < 2; n += 1) {
    const begun = store.transaction((tx) => tx.touch(), { waitMs: 300 });
    await expect(begun).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  }
  proxy.setMode({ kind: "pass" });
  await eventually(() => claimedId(store, { eventId: "after" }).catch(() => false), { what: "a commit" });
});

test("answers that arrive byte by byte are read as any", async () => {
  const { proxy, store } = await proxied();
  proxy.setMode({ kind: "slice", bytes: 3 });
  await claimedId(store);
  expect(await store.reader.counts()).toMatchObject({ deliveries: 1 });
});

test("a transaction that was made read-only is TRANSACTION_BROKEN, and keeps nothing", async () => {
  const { store, url } = await bundle();
  const failing = commit(store, async (tx) => {
    await claim("evt_1")(tx);
    await tx.run("SELECT set_config('transaction_read_only', 'on', true)", []);
    await tx.touch();
  });
  await expect(failing).rejects.toMatchObject({ code: "TRANSACTION_BROKEN", cause: { code: "25006" } });
  expect(await idsAt(url)).toEqual([]);
});

test("a commit that its replica does not confirm in time is COMMIT_UNKNOWN, also where the wait is cancelled", async () => {
  await using pair = await startPostgresPair({ fsync: false });
  const url = pair.primary.url();
  const migrating = storeAt(url);
  await migrating.migrate();
  await migrating.close();
  const store = await opened(url, { deadlines: { statementMs: 30_000, commitMs: 500 } });
  await claimedId(store, { eventId: "1" });
  pair.replica.pause();
  await expect(claimedId(store, { eventId: "2" })).rejects.toMatchObject({ code: "COMMIT_UNKNOWN" });
  const patient = await opened(url);
  const cancelled = expect(claimedId(patient, { eventId: "3" })).rejects.toMatchObject({ code: "COMMIT_UNKNOWN" });
  const cancel = `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query = 'COMMIT'`;
  await eventually(async () => (await ask(url, cancel)).length > 0, { what: "a commit that waits for the replica" });
  await cancelled;
  // A duplicate is acked by a write of its own, which has to be confirmed like any.
  const duplicate = commit(store, async (tx) => {
    const [known] = await claim("2")(tx);
    if (known?.kind === "known") await tx.recordRedeliveries([{ receiptId: known.receipt.id, mismatch: null }]);
  });
  await expect(duplicate).rejects.toMatchObject({ code: "COMMIT_UNKNOWN" });
  await expect(commit(store, (tx) => tx.touch())).rejects.toMatchObject({ code: "COMMIT_UNKNOWN" });
  pair.replica.resume();
  await eventually(
    () =>
      commit(store, (tx) => tx.touch()).then(
        () => true,
        () => false,
      ),
    { what: "a confirmed commit" },
  );
  await store.close();
  await patient.close();
});

test("a warning of a user's own trigger at COMMIT says nothing about the commit", async () => {
  const { store, url } = await bundle();
  await ask(
    url,
    `CREATE TABLE notes (id int);
     CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'late'; RETURN NULL; END $$;
     CREATE CONSTRAINT TRIGGER warn AFTER INSERT ON notes DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION warn()`,
  );
  await commit(store, (tx) => tx.run("INSERT INTO notes VALUES (1)", []));
  expect(await ask(url, "SELECT id FROM notes")).toEqual([{ id: 1 }]);
});

test("a database that would not wait for its own disk is told to, for the engine's transactions", async () => {
  const { store, url } = await bundle();
  const name = new URL(url).pathname.slice(1);
  await ask(url, `ALTER DATABASE ${name} SET synchronous_commit = off`);
  onTestFinished(async () => void (await ask(url, `ALTER DATABASE ${name} RESET ALL`)));
  await ask(url, `ALTER DATABASE ${name} SET default_transaction_isolation = 'serializable'`);
  await terminateBackends(url);
  const settings = await eventually(
    () =>
      commit(store, (tx) =>
        tx.run(
          "SELECT current_setting('synchronous_commit') AS wait, current_setting('transaction_isolation') AS isolation",
          [],
        ),
      ).catch(() => false as const),
    { what: "a transaction" },
  );
  expect([...settings]).toEqual([{ wait: "on", isolation: "read committed" }]);
});

test("an address where nobody listens, and credentials that are wrong, are STORE_UNAVAILABLE", async () => {
  const server = await postgresServer();
  const nobody = await startFaultProxy({ targetPort: 1 });
  const closedPort = nobody.port;
  await nobody.close();
  const wrong = new URL(server.url("postgres"));
  wrong.password = "wrong";
  for (const url of [`postgres://127.0.0.1:${closedPort}/none`, wrong.href, server.url("no_such_database")]) {
    const store = storeAt(url);
    await expect(store.open()).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    await expect(store.migrate()).rejects.toThrow(/Cannot connect to PostgreSQL: [^;]+; check address/);
    await store.close();
  }
});

test("a full disk is STORE_FULL, and the store goes on once there is room", async ({ skip }) => {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return skip("mounting a small disk takes root");
  const server = await postgresServer();
  const folder = mkdtempSync(join(tmpdir(), "counterfoil-small-"));
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=24m", "tmpfs", folder]);
  const { uid = 0, gid = 0 } = unprivileged();
  chownSync(folder, uid, gid);
  const admin = server.url("postgres");
  await ask(admin, `CREATE TABLESPACE small LOCATION '${folder}'`);
  await ask(admin, "CREATE DATABASE small TABLESPACE small");
  onTestFinished(async () => {
    await ask(admin, "DROP DATABASE small WITH (FORCE)");
    await ask(admin, "DROP TABLESPACE small");
    execFileSync("umount", [folder]);
    rmSync(folder, { recursive: true });
  });
  const url = server.url("small");
  const migrating = storeAt(url);
  await migrating.migrate();
  await migrating.close();
  const store = await opened(url);
  await ask(url, "CREATE TABLE ballast AS SELECT repeat(md5(random()::text), 30) AS x FROM generate_series(1, 8000)");
  const large = { payload: { bytes: crypto.getRandomValues(new Uint8Array(60_000)), headers: "[]" } };
  const filling = async (): Promise<unknown> => {
    for (let index = 0; index < 300; index += 1) await claimedId(store, { eventId: `evt_${index}`, ...large });
    return undefined;
  };
  const full = await filling().catch((error: unknown) => error);
  expect(full).toMatchObject({ code: "STORE_FULL", cause: { code: "53100" } });
  // On a connection that is there: a new one has files of its own to write.
  await commit(store, (tx) => tx.run("DROP TABLE ballast", []));
  await claimedId(store, { eventId: "next", ...large });
  await store.close();
});
