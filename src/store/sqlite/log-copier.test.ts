import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, renameSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { Turn } from "../turn.ts";
import { temporaryFolder } from "./bundle.conformance.ts";
import { Checkpoints } from "./checkpoints.ts";
import { connectWriter } from "./connection.ts";
import { LogCopier } from "./log-copier.ts";

/** A file with this many kilobytes in its log, and a connection that keeps them there. */
async function fileWithLog(name = "store.db", kilobytes = 256): Promise<{ path: string; database: DatabaseSync }> {
  const folder = await temporaryFolder();
  const path = `${folder.path}/${name}`;
  const database = new DatabaseSync(path, { timeout: 10_000 });
  onTestFinished(async () => {
    if (database.isOpen) database.close();
    await folder.remove();
  });
  database.exec("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE filler (bytes BLOB)");
  const insert = database.prepare("INSERT INTO filler VALUES (randomblob(1024))");
  database.exec("BEGIN");
  for (let count = 0; count < kilobytes; count += 1) insert.run();
  database.exec("COMMIT");
  return { path, database };
}

function copierOf(path: string): LogCopier {
  const copier = new LogCopier(path);
  onTestFinished(() => copier.stop());
  return copier;
}

const copiedPages = (database: DatabaseSync): number =>
  Number(database.prepare("PRAGMA wal_checkpoint(NOOP)").get()?.["checkpointed"]);

test("a copy whose thread is ended is over, holds no lock, and the next one copies again", async () => {
  const { path, database } = await fileWithLog("store.db", 8_192);
  const copier = copierOf(path);
  const ended = copier.copy();
  expect(copier.isCopying).toBe(true);
  await copier.stop();
  expect(await ended).toBe(false);
  expect(copier.isCopying).toBe(false);
  expect(database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get()).toMatchObject({ busy: 0 });
  database.exec("INSERT INTO filler VALUES (randomblob(8192))");
  expect(await copier.copy()).toBe(true);
  expect(copiedPages(database)).toBeGreaterThan(0);
});

test("a store that closes while its log is copied does not begin anew", async () => {
  const { path } = await fileWithLog("store.db", 8_192);
  const connection = connectWriter(path, { pageBytes: 4096, logBytes: 4 * 1024 * 1024 });
  onTestFinished(() => connection.database.close());
  const [turn, copier] = [new Turn(), copierOf(path)];
  const checkpoints = new Checkpoints(turn, copier);
  const release = await turn.take(0);
  for (let commits = 0; commits < 16; commits += 1) checkpoints.committed(connection);
  expect(copier.isCopying).toBe(true);
  await checkpoints.stop();
  await setImmediate();
  expect(copier.isCopying).toBe(false);
  release();
});

test("a file that was moved away is not created anew, and another one in its place is the one that is copied", async () => {
  const [first, second] = [await fileWithLog(), await fileWithLog("other % name?#.db")];
  const copier = copierOf(first.path);
  first.database.close();
  renameSync(first.path, `${first.path}.moved`);
  await copier.copy();
  expect(existsSync(first.path)).toBe(false);
  const other = copierOf(second.path);
  await other.copy();
  expect(copiedPages(second.database)).toBeGreaterThan(0);
});

test("many files are copied at once, each by its own", async () => {
  const files = await Promise.all(Array.from({ length: 6 }, () => fileWithLog()));
  const copiers = files.map(({ path }) => copierOf(path));
  for (let round = 0; round < 2; round += 1) {
    for (const { database } of files) database.exec("INSERT INTO filler VALUES (randomblob(8192))");
    await Promise.all(copiers.map((copier) => copier.copy()));
    for (const { database } of files) expect(copiedPages(database)).toBeGreaterThan(0);
  }
});

test("a process that ends while its log is copied leaves every commit behind", async () => {
  const { path, database } = await fileWithLog();
  for (const [round, how] of ["exit", "by itself"].entries()) {
    const flags = [...process.execArgv, "--input-type=module", "--eval", copying];
    const copier = new URL("log-copier.ts", import.meta.url).href;
    const child = spawn(process.execPath, [...flags, path, how, copier], { stdio: "ignore", timeout: 30_000 });
    expect(await once(child, "close")).toEqual([0, null]);
    expect(database.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
    expect(database.prepare("SELECT count(*) AS rows FROM filler").get()).toEqual({ rows: 256 + 4_096 * (round + 1) });
  }
});

/** Has its thread running, writes four megabytes, and ends as soon as they begin to be copied. */
const copying = `
  import { DatabaseSync } from "node:sqlite";
  const [, path, how, module] = process.argv;
  const { LogCopier } = await import(module);
  const copier = new LogCopier(path);
  const alive = setInterval(() => undefined, 1_000);
  await copier.copy();
  clearInterval(alive);
  const database = new DatabaseSync(path);
  const insert = database.prepare("INSERT INTO filler VALUES (randomblob(1024))");
  database.exec("PRAGMA wal_autocheckpoint = 0; BEGIN");
  for (let count = 0; count < 4_096; count += 1) insert.run();
  database.exec("COMMIT");
  void copier.copy();
  if (how === "exit") setImmediate(() => process.exit(0));
`;
