import { statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { claimedId } from "../conformance/drafts.conformance.ts";
import { sqliteBundle, storeAt, temporaryFolder } from "./bundle.conformance.ts";
import { connectWriter } from "./connection.ts";
import { networkFileSystem } from "./file-system.ts";
import { LogCopier } from "./log-copier.ts";
import { sqlite } from "./sqlite.ts";

async function pathFor(): Promise<string> {
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  return `${folder.path}/store.db`;
}

test("the writing connection has the settings that durability stands on", async () => {
  const { database } = connectWriter(await pathFor(), { pageBytes: 4096, logBytes: 32 * 1024 * 1024 });
  onTestFinished(() => database.close());
  const pragma = (name: string) => Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0];
  expect(pragma("journal_mode")).toBe("wal");
  expect(pragma("synchronous")).toBe(1);
  expect(pragma("busy_timeout")).toBe(0);
  expect(pragma("foreign_keys")).toBe(1);
  expect(pragma("journal_size_limit")).toBeGreaterThan(0);
  expect(pragma("wal_autocheckpoint")).toBeGreaterThan(10_000);
});

test("a file that cannot have a write-ahead log is refused", async () => {
  const path = await pathFor();
  const holder = new DatabaseSync(path);
  onTestFinished(() => holder.close());
  // Locked by a connection that is not in WAL mode, a file cannot be turned to it.
  holder.exec("CREATE TABLE t (a); BEGIN EXCLUSIVE");
  expect(() => connectWriter(path, { pageBytes: 4096, logBytes: 32 * 1024 * 1024 })).toThrow(
    expect.objectContaining({ code: "STORE_BUSY" }),
  );
});

test.each([
  [0x6969, "NFS"],
  [0xff534d42, "CIFS"],
  [0xff534d42 | 0, "CIFS"],
  [0xfe534d42, "SMB2"],
  [0x01021997, "9p"],
  [0x65735546, "FUSE or virtiofs"],
  [0xef53, undefined],
  [0x01021994, undefined],
  [0x9123683e, undefined],
  [0x794c7630, undefined],
])("file system type %d is %s", (type, name) => {
  expect(networkFileSystem(type)).toBe(name);
});

test("a network file system is refused, names PostgreSQL, and can be allowed", async () => {
  const path = await pathFor();
  const nfs = { fileSystemType: () => 0x6969 };
  await expect(storeAt(path, nfs).open()).rejects.toMatchObject({ code: "STORE_UNSUPPORTED" });
  await expect(storeAt(path, nfs).migrate()).rejects.toThrow(/NFS.*PostgreSQL.*allowNetworkFileSystem/);
  const store = storeAt(path, { ...nfs, allowNetworkFileSystem: true });
  await store.migrate();
  await store.open();
  await store.close();
});

test("a store in memory works by itself, reads and all", async () => {
  const store = sqlite(":memory:");
  await expect(store.open()).rejects.toMatchObject({ code: "SCHEMA_OUTDATED" });
  await store.migrate();
  await store.open();
  await claimedId(store);
  expect(await store.reader.counts()).toMatchObject({ deliveries: 1 });
  await store.close();
});

test("a store without a path is a mistake that is named", () => {
  expect(() => sqlite("")).toThrow(TypeError);
  expect(() => sqlite(undefined as unknown as string)).toThrow(/no path/);
});

const mebibyte = 1024 * 1024;
const large = { bytes: new Uint8Array(32 * 1024), headers: "[]" };

test.for([
  ["between turns of the event loop", (): Promise<unknown> => setImmediate()],
  ["without ever letting the event loop go on", async (): Promise<unknown> => undefined],
] as const)("a log that is written %s stays bounded", async ([, pause]) => {
  const bundle = await sqliteBundle({ logBytes: mebibyte });
  onTestFinished(bundle.dispose);
  for (let index = 0; index < 300; index += 1) {
    await claimedId(bundle.store, { eventId: `evt_${index}`, payload: large });
    await pause();
    expect(statSync(`${bundle.path}-wal`).size).toBeLessThan(7 * mebibyte);
  }
});

test("a log is copied by another thread while transactions go on", async () => {
  const bundle = await sqliteBundle({ logBytes: mebibyte });
  onTestFinished(bundle.dispose);
  const copier = new LogCopier(bundle.path);
  onTestFinished(() => copier.stop());
  await claimedId(bundle.store, { eventId: "evt_before", payload: large });
  const copied = copier.copy();
  await claimedId(bundle.store, { eventId: "evt_meanwhile", payload: large });
  await copied;
  using database = new DatabaseSync(bundle.path);
  const log = database.prepare("PRAGMA wal_checkpoint(NOOP)").get();
  expect(Number(log?.["checkpointed"])).toBeGreaterThan(16);
});

test("a thread that cannot copy hinders nobody", async () => {
  const copier = new LogCopier("/nowhere/to/be/found.db");
  onTestFinished(() => copier.stop());
  await copier.copy();
  expect(copier.isCopying).toBe(false);
});

test("a log that a reader kept from being copied is cut again once it is gone", async () => {
  const bundle = await sqliteBundle({ logBytes: mebibyte });
  onTestFinished(bundle.dispose);
  const write = async (name: string, count: number): Promise<void> => {
    for (let index = 0; index < count; index += 1) {
      await claimedId(bundle.store, { eventId: `${name}-${index}`, payload: large });
      await setImmediate();
    }
  };
  const logBytes = (): number => statSync(`${bundle.path}-wal`).size;
  const reader = new DatabaseSync(bundle.path);
  reader.exec("BEGIN");
  reader.prepare("SELECT count(*) FROM counterfoil_receipts").get();
  await write("pinned", 200);
  expect(logBytes()).toBeGreaterThan(6 * mebibyte);
  reader.exec("COMMIT");
  reader.close();
  await write("free", 60);
  expect(logBytes()).toBeLessThan(3 * mebibyte);
});
