/** Full disks, failing disks, files that cannot be written or are no database: each with its code, and without a restart. */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { getuid } from "node:process";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { commit } from "../conformance/bundle.conformance.ts";
import { claimedId, receiptDraft } from "../conformance/drafts.conformance.ts";
import { sqliteBundle, storeAt, temporaryFolder } from "./bundle.conformance.ts";

const large = (eventId: string, bytes = 200_000) =>
  receiptDraft({ eventId, payload: { bytes: new Uint8Array(bytes).fill(7), headers: "[]" } });

const isRoot = process.platform === "linux" && getuid?.() === 0;

async function folderFor() {
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  return folder.path;
}

test("a full database is STORE_FULL, keeps nothing of the transaction, and takes what has room", async () => {
  const bundle = await sqliteBundle({ pagesMax: 80 });
  onTestFinished(bundle.dispose);
  const { store } = bundle;
  // SQLite itself rolls back: what is not kept must not be acked, and what follows must not commit alone.
  const group = commit(store, async (tx) => {
    await tx.attempt(() => tx.claimReceipts([receiptDraft()]));
    const swallowing = tx.attempt(() => tx.claimReceipts([large("large")]).catch(() => "looks fine"));
    await expect(swallowing).rejects.toMatchObject({ code: "TRANSACTION_BROKEN", cause: { code: "STORE_FULL" } });
    const next = tx.attempt(() => tx.claimReceipts([receiptDraft({ eventId: "next" })]));
    await expect(next).rejects.toMatchObject({ code: "TRANSACTION_BROKEN" });
  });
  await expect(group).rejects.toMatchObject({ code: "STORE_FULL" });
  expect(await store.reader.receipts({}, { limit: 10 })).toEqual([]);
  await claimedId(store);
  await expect(claimedId(store, large("alone"))).rejects.toMatchObject({ code: "STORE_FULL" });
  expect(await store.reader.counts()).toMatchObject({ deliveries: 1 });
});

test("a full disk is STORE_FULL, and the store goes on once there is room", async ({ skip }) => {
  if (!isRoot) return skip("mounting a small disk takes root");
  const path = await folderFor();
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=2m", "tmpfs", path]);
  const store = storeAt(`${path}/store.db`);
  try {
    await store.migrate();
    await store.open();
    await claimedId(store);
    writeFileSync(`${path}/ballast`, new Uint8Array(1_200_000));
    await expect(claimedId(store, large("large", 900_000))).rejects.toMatchObject({ code: "STORE_FULL" });
    rmSync(`${path}/ballast`);
    await claimedId(store, large("large", 400_000));
    expect(await store.reader.counts()).toMatchObject({ deliveries: 2 });
  } finally {
    await store.close();
    execFileSync("umount", [path]);
  }
});

interface Break {
  readonly flags: string;
  readonly to: string;
  /** Which descriptors of the log: SQLite writes by the first, the store syncs by the last. */
  readonly which: "every" | "last";
}

/** Puts another file behind descriptors of the store's log: what it does next meets a real error of the system. */
function breakLog(path: string, { flags, to, which }: Break): void {
  const log = `${path}-wal`;
  const open = readdirSync("/proc/self/fd")
    .filter((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`) === log;
      } catch {
        return false;
      }
    })
    .map(Number)
    .toSorted((left, right) => left - right);
  expect(open.length).toBeGreaterThan(1);
  for (const fd of which === "every" ? open : open.slice(-1)) {
    closeSync(fd);
    expect(openSync(to, flags)).toBe(fd);
  }
}

const onLinux = process.platform === "linux";

test.runIf(onLinux).for([
  ["a write that fails", { flags: "r", to: "/dev/null", which: "every" }],
  ["a sync that fails", { flags: "w", to: "/dev/null", which: "last" }],
] as const)("%s at COMMIT is COMMIT_UNKNOWN; the store opens anew and the receipt decides", async ([, how]) => {
  const bundle = await sqliteBundle();
  onTestFinished(bundle.dispose);
  const { store, other, path } = bundle;
  await other.close();
  await claimedId(store);
  const failing = commit(store, async (tx) => {
    await tx.claimReceipts([receiptDraft({ eventId: "evt_2" })]);
    breakLog(path, how);
  });
  await expect(failing).rejects.toMatchObject({ code: "COMMIT_UNKNOWN" });
  const again = await commit(store, (tx) => tx.claimReceipts([receiptDraft({ eventId: "evt_2" })]));
  expect(["fresh", "known"]).toContain(again[0]?.kind);
  expect(await store.reader.counts()).toMatchObject({ receipts: { applied: 2 } });
});

test.runIf(onLinux)("after a failed sync nothing is added to a log that may not be on the disk", async () => {
  const bundle = await sqliteBundle();
  onTestFinished(bundle.dispose);
  const { store, other, path } = bundle;
  await other.close();
  await claimedId(store, large("large"));
  let stranger: DatabaseSync | undefined;
  const failing = commit(store, async (tx) => {
    await tx.claimReceipts([receiptDraft({ eventId: "unknown" })]);
    breakLog(path, { flags: "w", to: "/dev/null", which: "last" });
    // Keeps the log from being emptied by its last connection's end, as another process does.
    stranger = new DatabaseSync(path);
    stranger.exec("BEGIN; SELECT count(*) FROM counterfoil_receipts");
  });
  await expect(failing).rejects.toMatchObject({ code: "COMMIT_UNKNOWN" });
  expect(statSync(`${path}-wal`).size).toBeGreaterThan(200_000);
  const blocked = store.transaction((tx) => tx.claimReceipts([receiptDraft()]), { waitMs: 100 });
  await expect(blocked).rejects.toMatchObject({ code: "STORE_BUSY" });
  stranger?.exec("COMMIT");
  await claimedId(store);
  expect(statSync(`${path}-wal`).size).toBeLessThan(100_000);
  stranger?.close();
  // What was not known to be committed is there: the log was whole, only its sync failed.
  expect(await store.reader.receipts({}, { limit: 10 })).toMatchObject([
    { eventId: "evt_1" },
    { eventId: "unknown" },
    { eventId: "large" },
  ]);
});

test("a file that is no database is STORE_CORRUPT, and is left as it is", async () => {
  const path = `${await folderFor()}/store.db`;
  writeFileSync(path, "this is no database, but it is long enough to look like one ".repeat(100));
  const store = storeAt(path);
  await expect(store.open()).rejects.toMatchObject({ code: "STORE_CORRUPT" });
  await expect(store.migrate()).rejects.toMatchObject({ code: "STORE_CORRUPT" });
  rmSync(path);
  await store.migrate();
  await store.open();
  await store.close();
});

test("a folder that is not there is STORE_UNAVAILABLE, until it is", async () => {
  const path = `${await folderFor()}/missing`;
  const store = storeAt(`${path}/store.db`);
  await expect(store.open()).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  mkdirSync(path);
  await store.migrate();
  await store.open();
  await store.close();
});

test("a file that cannot be written is STORE_UNAVAILABLE", async ({ skip }) => {
  const path = await folderFor();
  const store = storeAt(`${path}/store.db`);
  await store.migrate();
  await store.close();
  if (isRoot) {
    execFileSync("mount", ["--bind", path, path]);
    onTestFinished(() => void execFileSync("umount", [path]));
    execFileSync("mount", ["-o", "remount,bind,ro", path]);
  } else if (process.platform === "win32") skip("permissions are other there");
  else {
    chmodSync(path, 0o500);
    onTestFinished(() => chmodSync(path, 0o700));
  }
  await expect(store.open()).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
});

test("a file that is moved away under a running store is STORE_UNAVAILABLE, until it is back", async () => {
  const bundle = await sqliteBundle();
  onTestFinished(bundle.dispose);
  const { store, path } = bundle;
  await claimedId(store);
  const move = (from: string, to: string) => {
    for (const end of ["", "-wal", "-shm"]) if (existsSync(from + end)) renameSync(from + end, to + end);
  };
  move(path, `${path}.away`);
  await expect(claimedId(store, { eventId: "lost" })).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  await expect(store.reader.counts()).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  expect(existsSync(path)).toBe(false);
  move(`${path}.away`, path);
  await claimedId(store, { eventId: "evt_2" });
  expect(await store.reader.counts()).toMatchObject({ deliveries: 2 });
});

test("another database that is put in the file's place is read and written from then on", async () => {
  const bundle = await sqliteBundle();
  onTestFinished(bundle.dispose);
  const { store, other, path } = bundle;
  await claimedId(store);
  const [restored] = await bundle.unmigrated();
  await restored.migrate();
  await restored.close();
  await other.close();
  for (const end of ["-wal", "-shm"]) rmSync(path + end, { force: true });
  renameSync(`${path.slice(0, path.lastIndexOf("/"))}/unmigrated.db`, path);
  expect(await store.reader.counts()).toMatchObject({ deliveries: 0 });
  await claimedId(store);
  expect(await store.reader.counts()).toMatchObject({ deliveries: 1 });
});
