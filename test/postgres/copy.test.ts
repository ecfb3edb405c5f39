import { DatabaseSync } from "node:sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import { commit } from "../../src/store/conformance/bundle.conformance.ts";
import {
  claimDue,
  claimedId,
  claimedObligation,
  moveOf,
  owedId,
  receiptDraft,
} from "../../src/store/conformance/drafts.conformance.ts";
import { storeAt as serverStoreAt } from "../../src/store/postgres/bundle.conformance.ts";
import { CopySource } from "../../src/store/sqlite/copy-source.ts";
import type { Store } from "../../src/store/store.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { ask } from "../support/postgres-query.ts";
import { postgresServers } from "../support/postgres.ts";
import { copySides, type Sides } from "./copy-parts.ts";
import { fillStore, viewOf } from "./rich-store.ts";
import { runCopy } from "./run-copy.ts";

const hour = 3_600_000;

/** The store on the server, open; its clock runs ahead of the server's. */
async function opened({ url }: Sides, aheadMs = 0): Promise<Store> {
  const store = serverStoreAt(url, { clock: (serverMs) => serverMs + aheadMs });
  onTestFinished(() => store.close());
  await store.open();
  return store;
}

describe.each(postgresServers())("a copy to $name", ({ server }) => {
  test("has everything that the file had, as an operator sees it", async () => {
    const sides = await copySides({ server: await server() });
    await fillStore(sides.file, { events: 60 });
    const before = await viewOf(sides.file);
    const report = await runCopy(sides, { final: true });
    expect(report).toMatchObject({ moved: true, changed: 0, closedMs: expect.any(Number) });
    expect(await viewOf(await opened(sides))).toEqual(before);
  });
});

describe("while the store is used", () => {
  test("whatever changes meanwhile is there in the end, what was removed is not", { timeout: 180_000 }, async () => {
    const sides = await copySides();
    const { file } = sides;
    await fillStore(file, { events: 60 });
    const stop = new AbortController();
    const busy = keepBusy(file, stop.signal);
    const first = await runCopy(sides);
    const second = await runCopy(sides);
    stop.abort();
    const acknowledged = await busy;
    expect([first.moved, second.moved]).toEqual([false, false]);
    expect(acknowledged.length).toBeGreaterThan(20);
    const before = await viewOf(file);
    await runCopy(sides, { final: true });
    const store = await opened(sides);
    expect(await viewOf(store)).toEqual(before);
    for (const eventId of acknowledged) expect(await store.reader.receipts({ eventId }, { limit: 2 })).toHaveLength(1);
  });

  test("the copy lets nobody in before it is all there, also who was in before it began", async () => {
    const sides = await copySides();
    const early = sides.server();
    await early.migrate();
    await early.open();
    await commit(early, (tx) => tx.touch());
    await owedId(sides.file);
    await runCopy(sides);
    await expect(claimDue(early)).rejects.toMatchObject({ code: "STORE_INCOMPLETE" });
    await expect(claimedId(early)).rejects.toMatchObject({ code: "STORE_INCOMPLETE" });
    await expect(commit(early, (tx) => tx.touch())).rejects.toMatchObject({ code: "STORE_INCOMPLETE" });
    await expect(sides.server().open()).rejects.toThrow(
      'Cannot use the store: it is a copy of shop.db that is not all there yet; end it with "counterfoil copy --final"',
    );
    await runCopy(sides, { final: true });
    expect(await claimDue(early)).toHaveLength(1);
    await (await opened(sides)).close();
  });

  test("the file goes on as if nothing had been until the copy is ended, then takes no write of anybody's", async () => {
    const sides = await copySides();
    const { file, path } = sides;
    await commit(file, (tx) => tx.run("CREATE TABLE orders (id INTEGER PRIMARY KEY)", []));
    await runCopy(sides);
    const claim = await claimedObligation(file);
    await runCopy(sides, { final: true });
    const moved = { code: "STORE_MOVED", message: expect.stringContaining("it was moved to the server; point") };
    await expect(claimedId(file, { eventId: "late" })).rejects.toMatchObject(moved);
    await expect(commit(file, (tx) => tx.move([moveOf(claim, { state: "done" })]))).rejects.toMatchObject(moved);
    await expect(commit(file, (tx) => tx.touch())).rejects.toMatchObject(moved);
    // Whoever has met that asks once more before anything else, the user's own tables included.
    await expect(commit(file, (tx) => tx.run("INSERT INTO orders (id) VALUES (1)", []))).rejects.toMatchObject(moved);
    await expect(file.open()).rejects.toMatchObject(moved);
    using outside = new DatabaseSync(path);
    expect(outside.prepare("SELECT count(*) AS n FROM orders").get()).toEqual({ n: 0 });
  });

  test("a change that comes between a look at the changes and forgetting them is not forgotten", async () => {
    const { file, path, clock } = await copySides();
    const source = new CopySource(path, { clock });
    onTestFinished(() => source.close());
    await source.begin("the server");
    await claimedId(file, { eventId: "a" });
    const seen = source.changes(10);
    expect([...seen.keys]).toEqual([["receipts", [[1]]]]);
    await commit(file, (tx) => tx.recordRedeliveries([{ receiptId: 1, mismatch: null }]));
    await source.forget(seen.upTo);
    expect(source.changeCount()).toBe(1);
  });
});

/** Writes of every kind, one after the other; gives the events that were acknowledged. */
async function keepBusy(store: Store, signal: AbortSignal): Promise<readonly string[]> {
  const acknowledged: string[] = [];
  for (let n = 0; n < 250 && !signal.aborted; n += 1) {
    const eventId = `live_${n}`;
    await claimedId(store, { eventId, bytesKeptMs: n % 2 });
    acknowledged.push(eventId);
    await commit(store, (tx) => tx.recordRedeliveries([{ receiptId: 1 + (n % 40), mismatch: null }]));
    const claim = await claimedObligation(store, { operationKey: eventId });
    if (n % 3 > 0) await commit(store, (tx) => tx.move([moveOf(claim, { state: "done", reached: "yes" })]));
    await commit(store, (tx) => tx.expireBytes(5));
    const batch = { kind: "requests", olderThanMs: -hour, after: 0, limit: 5, dryRun: false } as const;
    await commit(store, (tx) => tx.prune(batch));
    await commit(store, (tx) => tx.recordRefusals([{ at: n, connection: "stripe", cause: "expired", facts: "{}" }]));
    await new Promise(setImmediate);
  }
  return acknowledged;
}

describe("what is under a lease when the file is closed", () => {
  test("keeps its fence and its holder's time, and is then unknown, by the rule for a lost worker", async () => {
    const sides = await copySides();
    const claim = await claimedObligation(sides.file);
    await runCopy(sides, { final: true });
    const now = await opened(sides);
    expect(await claimDue(now)).toEqual([]);
    expect(await commit(now, (tx) => tx.expiredLeases(10))).toEqual([]);
    const later = await opened(sides, 61_000);
    const [expired] = await commit(later, (tx) => tx.expiredLeases(10));
    expect(expired).toMatchObject({ kind: "send", obligation: { state: "sending", fence: claim.fence } });
    expect(Math.abs(expired!.claimedAt.wallMs - claim.claimedAt.wallMs)).toBeLessThan(60_000);
    const stale = moveOf(claim, { state: "done" });
    expect(await commit(later, (tx) => tx.move([{ ...stale, fence: claim.fence - 1 }]))).toEqual([false]);
  });

  test("is unknown at once where its holder died with another boot of the machine", async () => {
    const clock = new VirtualClock({ wallMs: Date.now(), monotonicMs: 1_000_000 });
    const sides = await copySides({ clock });
    await claimedObligation(sides.file);
    clock.reboot("boot-2");
    await runCopy(sides, { final: true });
    expect(await commit(await opened(sides, 1), (tx) => tx.expiredLeases(10))).toHaveLength(1);
  });

  test("an attempt whose end was written while its hook still ran keeps that end", async () => {
    const sides = await copySides();
    const claim = await claimedObligation(sides.file);
    const answer = { status: 201, body: new Uint8Array([1]), truncated: false };
    const attempt = { verdict: "done", phase: "answered", status: 201, cause: null, answer } as const;
    const settling = moveOf(claim, { state: "settling", reached: "yes" }, { attempt, keepLease: true });
    await commit(sides.file, (tx) => tx.move([settling]));
    await runCopy(sides, { final: true });
    const later = await opened(sides, 61_000);
    const [expired] = await commit(later, (tx) => tx.expiredLeases(10));
    expect(expired).toMatchObject({ kind: "send", obligation: { state: "settling", reached: "yes" } });
    const detail = await later.reader.obligation("acme", claim.obligation.operationKey);
    expect(detail).toMatchObject({ answer: { status: 201 }, attempts: [{ verdict: "done", fence: claim.fence }] });
  });
});

describe("keys and calls are as old on the server", () => {
  const clock = (): VirtualClock => new VirtualClock({ wallMs: Date.now(), monotonicMs: 10 * hour });

  test.each([
    { name: "by both clocks", wall: -hour, monotonic: -hour, key: hour, call: hour },
    {
      name: "by the clock that says more for a key, and less for a call",
      wall: -hour,
      monotonic: -3 * hour,
      key: 3 * hour,
      call: hour,
    },
    { name: "by the other one where that says so", wall: -3 * hour, monotonic: -hour, key: 3 * hour, call: hour },
    {
      name: "by the wall clock across boots",
      wall: -2 * hour,
      monotonic: 0,
      boot: "before",
      key: 2 * hour,
      call: 2 * hour,
    },
    {
      name: "beyond any life where a wall clock lost the time",
      wall: hour,
      monotonic: 0,
      boot: "before",
      key: 10_000 * hour,
      call: 0,
    },
  ])("$name", async ({ wall, monotonic, boot, key, call }) => {
    const time = clock();
    const sides = await copySides({ clock: time });
    const stamp = {
      wallMs: time.wallMs() + wall,
      monotonicMs: time.monotonicMs() + monotonic,
      bootId: boot ?? time.bootId,
    };
    // The server's wall clock is another one.
    time.stepWall(0);
    const claim = await claimedObligation(sides.file);
    const to = { state: "uncertain", keySince: stamp, lastCallEndedAt: stamp, dueAt: Date.now() + hour } as const;
    await commit(sides.file, (tx) => tx.move([moveOf(claim, to)]));
    await runCopy(sides, { final: true });
    const store = await opened(sides);
    const { obligation } = (await store.reader.obligation("acme", claim.obligation.operationKey))!;
    const now = await commit(store, async (tx) => tx.stamp);
    const ages = [obligation.keySince!, obligation.lastCallEndedAt!].map(({ wallMs, monotonicMs, bootId }) => {
      expect({ monotonicMs, bootId }).toEqual({ monotonicMs: wallMs, bootId: now.bootId });
      return now.wallMs - wallMs;
    });
    const slack = 120_000;
    expect(ages[0]).toBeGreaterThanOrEqual(key);
    if (key < 10_000 * hour) expect(ages[0]).toBeLessThan(key + slack);
    expect(ages[1]).toBeGreaterThanOrEqual(call - 10);
    expect(ages[1]).toBeLessThan(call + slack);
  });

  test("also where the machine's wall clock is not the server's", async () => {
    const time = new VirtualClock({ wallMs: Date.now() + 5 * hour, monotonicMs: 10 * hour });
    const sides = await copySides({ clock: time });
    const claim = await claimedObligation(sides.file);
    const since = { wallMs: time.wallMs() - hour, monotonicMs: time.monotonicMs() - hour, bootId: time.bootId };
    const to = { state: "uncertain", keySince: since, lastCallEndedAt: since, dueAt: 1 } as const;
    await commit(sides.file, (tx) => tx.move([moveOf(claim, to)]));
    await runCopy(sides, { final: true });
    const store = await opened(sides);
    const { obligation } = (await store.reader.obligation("acme", claim.obligation.operationKey))!;
    const { wallMs } = await commit(store, async (tx) => tx.stamp);
    for (const stamp of [obligation.keySince!, obligation.lastCallEndedAt!]) {
      expect(Math.abs(wallMs - stamp.wallMs - hour)).toBeLessThan(120_000);
    }
  });
});

test("what comes after has numbers behind those that were copied, and the audit says who copied", async () => {
  const sides = await copySides();
  await fillStore(sides.file);
  const receipts = await sides.file.reader.receipts({}, { limit: 1 });
  const obligations = await sides.file.reader.obligations({}, { limit: 1 });
  await runCopy(sides, { final: true });
  const store = await opened(sides);
  expect(await claimedId(store, { eventId: "next" })).toBeGreaterThan(receipts[0]!.id);
  expect(await owedId(store, { operationKey: "next" })).toBeGreaterThan(obligations[0]!.id);
  expect(await commit(store, (tx) => tx.claimReceipts([receiptDraft({ eventId: "evt_1" })]))).toMatchObject([
    { kind: "known" },
  ]);
  await commit(store, (tx) => tx.recordRefusals([{ at: 1, connection: "c", cause: "x", facts: "{}" }]));
  const audit = await ask(
    sides.url,
    "SELECT who, action, target, why, before, after FROM counterfoil.audit ORDER BY id",
  );
  expect(audit).toHaveLength(3);
  expect(audit[2]).toMatchObject({ who: "ann", action: "copy", target: "store", why: "grown", before: "shop.db" });
  expect(JSON.parse(String(audit[2]?.["after"]))).toMatchObject({ obligations: 8, snapshots: 6 });
});
