import { existsSync } from "node:fs";
import { Client } from "pg";
import { describe, expect, test } from "vitest";
import { eventually } from "../../src/testing/eventually.ts";
import { startProcess } from "../../src/testing/processes.ts";
import { pgBouncer, startPgBouncer } from "../support/pgbouncer.ts";
import { startPostgresPair } from "../support/postgres-pair.ts";
import { startPostgres } from "../support/postgres-process.ts";
import { ask, terminateBackends, untilBlocked } from "../support/postgres-query.ts";
import { postgresServer, postgresServers } from "../support/postgres.ts";

describe.each(postgresServers())("$name", ({ major, server }) => {
  test("gives each test a database of its own, of that version", async () => {
    const { createDatabase, version } = await server();
    await using first = await createDatabase();
    await using second = await createDatabase();
    await ask(first.url, "CREATE TABLE kept (id int)");
    expect(version).toMatch(new RegExp(`^${major}\\b`, "u"));
    expect(await ask(second.url, "SELECT to_regclass('kept') AS kept")).toEqual([{ kept: null }]);
  });

  test("makes a template once and copies it, also where two ask at once", async () => {
    const { createDatabase } = await server();
    const template = {
      name: `template_of_${process.pid}`,
      prepare: async (url: string) => {
        await ask(url, "CREATE TABLE kept (id int); INSERT INTO kept VALUES (7)");
      },
    };
    const databases = await Promise.all([createDatabase({ template }), createDatabase({ template })]);
    await using stack = new AsyncDisposableStack();
    for (const database of databases) stack.use(database);
    for (const { url } of databases) expect(await ask(url, "SELECT id FROM kept")).toEqual([{ id: 7 }]);
    const unprepared = { ...template, prepare: () => Promise.reject(new Error("made again")) };
    stack.use(await createDatabase({ template: unprepared }));
  });
});

test("a backend that waits for a lock is seen, and ended", async () => {
  const { createDatabase } = await postgresServer();
  await using database = await createDatabase();
  await ask(database.url, "CREATE TABLE kept (id int PRIMARY KEY)");
  const [first, second] = [await connected(database.url), await connected(database.url)];
  await first.query("BEGIN; INSERT INTO kept VALUES (1)");
  const waiting = second.query("INSERT INTO kept VALUES (1)");
  expect(await untilBlocked(database.url)).toEqual(["INSERT INTO kept VALUES (1)"]);
  const refused = expect(waiting).rejects.toThrow("terminating connection");
  expect(await terminateBackends(database.url, "wait_event_type = 'Lock'")).toBe(1);
  await refused;
  await first.query("COMMIT");
  await first.end();
  expect(await ask(database.url, "SELECT id FROM kept")).toEqual([{ id: 1 }]);
});

describe("a server of a test's own", () => {
  test("that ended by itself is told to end without a wait, and starts again", async () => {
    await using server = await startPostgres();
    for (const end of [() => server.kill(), () => server.stop()]) {
      process.kill(server.pid!, "SIGQUIT");
      await eventually(() => server.isOver, { what: "the end of the server" });
      await end();
      await server.start();
    }
    expect(await ask(server.url(), "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  });

  test("keeps what was committed through SIGKILL, a restart and a pause", async () => {
    await using server = await startPostgres();
    await ask(server.url(), "CREATE TABLE kept (id int); INSERT INTO kept VALUES (1)");
    await server.kill();
    await expect(ask(server.url(), "SELECT 1")).rejects.toThrow("ECONNREFUSED");
    await server.start();
    await server.restart();
    const client = await connected(server.url());
    server.pause();
    let answered = false;
    const answer = client.query("SELECT id FROM kept").then(({ rows }) => ((answered = true), rows));
    // What was sent before a whole round trip elsewhere would have been answered by now.
    await ask((await postgresServer()).url("postgres"), "SELECT 1");
    expect(answered).toBe(false);
    server.resume();
    expect(await answer).toEqual([{ id: 1 }]);
    await client.end();
  });

  test("leaves no process and no file, also where its owner is killed while the server is paused", async () => {
    await using owner = startProcess(new URL("./children/postgres-owner.ts", import.meta.url));
    const { folder, pid } = (await owner.ask("start")) as { folder: string; pid: number };
    expect(existsSync(folder)).toBe(true);
    await owner.ask("pause");
    await owner.kill();
    await eventually(() => !existsSync(folder), { what: "the end of the folder" });
    expect(() => process.kill(pid, 0)).toThrow("ESRCH");
  });
});

describe("a pair", () => {
  test("keeps on the promoted replica what the primary acknowledged, and acknowledges nothing without it", async () => {
    await using pair = await startPostgresPair();
    const { primary, replica, promote } = pair;
    await ask(primary.url(), "CREATE TABLE kept (id int)");
    await ask(primary.url(), "INSERT INTO kept VALUES (1)");
    replica.pause();
    const alone = ask(primary.url(), "INSERT INTO kept VALUES (2)");
    const refused = expect(alone).rejects.toThrow();
    await eventually(() =>
      ask(primary.url(), "SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'").then(
        (found) => found.length === 1,
      ),
    );
    await primary.kill();
    await refused;
    replica.resume();
    await promote();
    await ask(replica.url(), "INSERT INTO kept VALUES (3)");
    const kept = await ask<{ id: number }>(replica.url(), "SELECT id FROM kept ORDER BY id");
    expect(kept.map(({ id }) => id).filter((id) => id !== 2)).toEqual([1, 3]);
  });
});

test.skipIf(pgBouncer === undefined)("PgBouncer gives each transaction whichever connection is free", async () => {
  const server = await postgresServer();
  await using database = await server.createDatabase();
  await using bouncer = await startPgBouncer(server.url(""));
  const [first, second] = [await connected(bouncer.url(database.name)), await connected(bouncer.url(database.name))];
  const backend = async (client: Client): Promise<number> => {
    const { rows } = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
    return rows[0]?.pid ?? 0;
  };
  expect(await backend(first)).toBe(await backend(second));
  await first.query("BEGIN");
  expect(await backend(first)).not.toBe(await backend(second));
  await first.query("COMMIT");
  await first.end();
  await second.end();
});

async function connected(url: string): Promise<Client> {
  const client = new Client(url);
  client.on("error", () => undefined);
  await client.connect();
  return client;
}
