/** Several processes on one SQLite file, and the death of any of them at any step. */
import { expect, onTestFinished, test } from "vitest";
import { commit } from "../../src/store/conformance/bundle.conformance.ts";
import { claimedId } from "../../src/store/conformance/drafts.conformance.ts";
import { storeAt, temporaryFolder } from "../../src/store/sqlite/bundle.conformance.ts";
import { killAtEveryPoint } from "../../src/testing/crash-points.ts";
import { eventually } from "../../src/testing/eventually.ts";
import { startProcess, type StartProcessOptions } from "../../src/testing/processes.ts";

const child = new URL("./children/writer.ts", import.meta.url);

async function sharedFile() {
  const folder = await temporaryFolder();
  const path = `${folder.path}/store.db`;
  const store = storeAt(path);
  await store.migrate();
  await store.open();
  onTestFinished(async () => {
    await store.close();
    await folder.remove();
  });
  const start = (options: StartProcessOptions = {}) => {
    const process = startProcess(child, { arguments: [path], ...options });
    onTestFinished(async () => void (await process.kill()));
    return process;
  };
  return { path, store, start };
}

test("processes that receive the same events at once keep each once, and share the work they owe", async () => {
  const { store, start } = await sharedFile();
  const eventIds = Array.from({ length: 60 }, (_, index) => `evt_${index}`);
  const processes = Array.from({ length: 4 }, () => start());
  const receiving = processes.flatMap((process) =>
    Array.from({ length: 6 }, (_, group) => process.ask("receive", eventIds.slice(group * 10, group * 10 + 10))),
  );
  const fresh = (await Promise.all(receiving)).flat() as string[];
  expect(fresh.toSorted()).toEqual(eventIds.toSorted());
  const working = processes.map(async (process, index) => {
    const keys: string[] = [];
    for (;;) {
      const done = (await process.ask("work", `worker-${index}`)) as string[];
      if (done.length === 0) return keys;
      keys.push(...done);
    }
  });
  const done = (await Promise.all(working)).flat();
  expect(done.toSorted()).toEqual(eventIds.toSorted());
  const counts = await store.reader.counts();
  expect(counts).toMatchObject({ receipts: { applied: 60 }, obligations: { done: 60 } });
});

test("a process that dies while it holds the lock leaves nothing and delays nobody", async () => {
  const { store, start } = await sharedFile();
  const holder = start();
  holder.ask("hold").catch(() => undefined);
  await eventually(() => holder.told.length === 1);
  await expect(store.transaction(async () => 1, { waitMs: 50 })).rejects.toMatchObject({ code: "STORE_BUSY" });
  await holder.kill();
  await claimedId(store);
  expect((await store.reader.receipts({}, { limit: 10 })).map(({ eventId }) => eventId)).toEqual(["evt_1"]);
});

test("killed at any statement or COMMIT, a process leaves every transaction whole or not at all", async () => {
  const eventIds = ["evt_1", "evt_2"];
  const points = await killAtEveryPoint(async ({ environment }) => {
    const { store, start } = await sharedFile();
    const victim = start({ environment });
    const acked = await victim.ask("receive", eventIds).catch(() => undefined);
    const done = acked && (await victim.ask("work", "victim").catch(() => undefined));
    const { signal } = await victim.finish();

    const counts = await store.reader.counts();
    const receipts = counts.receipts.applied ?? 0;
    expect([0, 2]).toContain(receipts);
    if (acked) expect(receipts).toBe(2);
    for (const { id } of await store.reader.receipts({}, { limit: 10 })) {
      expect(await store.reader.receipt(id)).toMatchObject({
        bytes: expect.any(Number),
        obligations: [{ receiptId: id }],
      });
    }
    const owed = await store.reader.obligations({}, { limit: 10 });
    expect(owed).toHaveLength(receipts);
    for (const { operationKey, state, fence } of owed) {
      const detail = await store.reader.obligation("acme", operationKey);
      // Recorded before anything is sent: a claimed obligation has its attempt and its lease.
      expect(detail?.attempts).toHaveLength(fence);
      if (state === "sending") expect(detail?.lease).not.toBeNull();
      if (done) expect(detail).toMatchObject({ obligation: { state: "done" }, answer: { status: 201 } });
    }
    // Redelivered to a store that somebody opens anew, every event is known or fresh, and none is lost.
    await commit(store, async (tx) => {
      for (const eventId of eventIds) {
        const [receipt] = await store.reader.receipts({ eventId }, { limit: 1 });
        const found = receipt && (await tx.lockReceipt(receipt.id));
        expect(found !== undefined).toBe(receipts === 2);
      }
    });
    return signal === "SIGKILL" ? "killed" : "finished";
  });
  console.log(`store: killed at ${points} points`);
  expect(points).toBeGreaterThan(30);
}, 600_000);
