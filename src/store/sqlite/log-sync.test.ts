import { closeSync, mkdtempSync, openSync, readdirSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { receiptDraft } from "../conformance/drafts.conformance.ts";
import { sqliteBundle } from "./bundle.conformance.ts";
import { LogSync } from "./log-sync.ts";

function logged(): { readonly log: LogSync; readonly steps: string[]; readonly file: string } {
  const folder = mkdtempSync(join(tmpdir(), "counterfoil-log-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "store.db-wal");
  writeFileSync(file, "frames");
  const steps: string[] = [];
  const log = new LogSync(join(folder, "store.db"), (step) => steps.push(step));
  onTestFinished(() => log.close());
  return { log, steps, file };
}

const once = ["sqlite.log.sync:before", "sqlite.log.sync:after"];

test("a transaction resolves once its commit is synced, and not before", async () => {
  const steps: string[] = [];
  const bundle = await sqliteBundle({ probe: (step) => steps.push(step) });
  onTestFinished(bundle.dispose);
  steps.length = 0;
  await bundle.store.transaction((tx) => tx.claimReceipts([receiptDraft()]), { waitMs: 1_000 });
  expect(steps.slice(steps.indexOf("sqlite.commit:after"))).toEqual(["sqlite.commit:after", ...once]);
});

test("the next transaction runs while the disk works, and is synced after it has committed", async () => {
  const steps: string[] = [];
  const bundle = await sqliteBundle({ probe: (step) => steps.push(step) });
  onTestFinished(bundle.dispose);
  steps.length = 0;
  const claimed = ["evt_1", "evt_2"].map((eventId) =>
    bundle.store.transaction((tx) => tx.claimReceipts([receiptDraft({ eventId })]), { waitMs: 1_000 }),
  );
  await Promise.all(claimed);
  const kept = steps.filter((step) => /commit|sync/.test(step));
  const commits = kept.flatMap((step, index) => (step === "sqlite.commit:after" ? [index] : []));
  expect(commits).toHaveLength(2);
  // The second commit does not wait for the first sync, and has one that began after it.
  expect(commits[1]).toBeLessThan(kept.indexOf("sqlite.log.sync:after"));
  expect(kept.lastIndexOf("sqlite.log.sync:before")).toBeGreaterThan(commits[1] ?? 0);
});

test("those who come while a sync runs share the next one", async () => {
  const { log, steps } = logged();
  await Promise.all([log.flush(), log.flush(), log.flush(), log.flush()]);
  expect(steps).toEqual([...once, ...once]);
  await log.flush();
  expect(steps).toHaveLength(6);
});

test.runIf(process.platform === "linux")("after one sync failed, none is believed any more", async () => {
  const { log, file } = logged();
  await log.flush();
  expect(log.failed).toBe(false);
  const fd = readdirSync("/proc/self/fd").find((open) => linkOf(open) === file);
  closeSync(Number(fd));
  expect(openSync("/dev/null", "w")).toBe(Number(fd));
  const failing = [log.flush(), log.flush()];
  for (const flush of failing) await expect(flush).rejects.toMatchObject({ code: "COMMIT_UNKNOWN" });
  expect(log.failed).toBe(true);
  closeSync(Number(fd));
  expect(openSync(file, "r+")).toBe(Number(fd));
  await expect(log.flush()).rejects.toMatchObject({ code: "COMMIT_UNKNOWN" });
});

test("a file is let go only when nobody waits for it", async () => {
  const { log, steps } = logged();
  const flushed = [log.flush(), log.flush()];
  await log.close();
  expect(steps).toEqual([...once, ...once]);
  await Promise.all(flushed);
});

function linkOf(fd: string): string | undefined {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return undefined;
  }
}
