/** Transactions that meet: each is stopped where it holds what the other wants, until the server shows that one waits. */
import { expect, onTestFinished, test } from "vitest";
import { ask, untilBlocked } from "../../../test/support/postgres-query.ts";
import type { Obligation } from "../../domain/obligation.ts";
import { commit } from "../conformance/bundle.conformance.ts";
import {
  attemptEnd,
  claimedId,
  claimedObligation,
  moveOf,
  obligationDraft,
  owedId,
  receiptDraft,
  settledReceipt,
} from "../conformance/drafts.conformance.ts";
import type { Store, StoreTx } from "../store.ts";
import { poolAt, postgresBundle, storeAt } from "./bundle.conformance.ts";

async function bundle() {
  const made = await postgresBundle();
  onTestFinished(made.dispose);
  return made;
}

/** A transaction that does something and then stays open until it is let go. */
async function stopped<T>(store: Store, body: (tx: StoreTx) => Promise<T>) {
  const [reached, goOn] = [Promise.withResolvers<T>(), Promise.withResolvers<Error | undefined>()];
  const ended = commit(store, async (tx) => {
    reached.resolve(await body(tx));
    const error = await goOn.promise;
    if (error) throw error;
  });
  ended.catch(reached.reject);
  await reached.promise;
  return {
    commit: async () => {
      goOn.resolve(undefined);
      await ended;
    },
    rollBack: async () => {
      goOn.resolve(new Error("rolled back by the test"));
      await ended.catch(() => undefined);
    },
  };
}

const kinds = (claimed: readonly { readonly kind: string }[]) => claimed.map(({ kind }) => kind);

test("of two copies at once the second waits for the first, and is known once that commits", async () => {
  const { store, other, url } = await bundle();
  const first = await stopped(store, (tx) => tx.claimReceipts([receiptDraft()]));
  const second = commit(other, (tx) => tx.claimReceipts([receiptDraft()]));
  await untilBlocked(url);
  await first.commit();
  expect(await second).toMatchObject([{ kind: "known", receipt: { eventId: "evt_1", outcome: "applied" } }]);
});

test("a copy whose first was undone is fresh", async () => {
  const { store, other, url } = await bundle();
  const first = await stopped(store, (tx) => tx.claimReceipts([receiptDraft()]));
  const second = commit(other, (tx) => tx.claimReceipts([receiptDraft()]));
  await untilBlocked(url);
  await first.rollBack();
  expect(kinds(await second)).toEqual(["fresh"]);
});

test("a copy whose first does not end in time is STORE_BUSY, and nothing of its group is kept", async () => {
  const { store, other } = await bundle();
  const first = await stopped(store, (tx) => tx.claimReceipts([receiptDraft()]));
  const drafts = [receiptDraft({ eventId: "evt_0" }), receiptDraft()];
  const busy = other.transaction((tx) => tx.claimReceipts(drafts), { waitMs: 300 });
  await expect(busy).rejects.toMatchObject({ code: "STORE_BUSY" });
  await first.commit();
  expect(await store.reader.receipts({}, { limit: 9 })).toMatchObject([{ eventId: "evt_1" }]);
});

test("a lock that an attempt waits for too long undoes the attempt and no more, by either bound", async () => {
  const { store, other } = await bundle();
  const first = await stopped(store, (tx) => tx.claimReceipts([receiptDraft()]));
  const claims = (tx: StoreTx) => tx.attempt(async () => tx.claimReceipts([receiptDraft()]));
  const kept = await other.transaction(
    async (tx) => {
      const [claimed] = await tx.claimReceipts([receiptDraft({ eventId: "evt_0" })]);
      await expect(claims(tx)).rejects.toMatchObject({ code: "STORE_BUSY" });
      tx.boundLocks(5);
      await expect(claims(tx)).rejects.toMatchObject({ code: "STORE_BUSY" });
      return claimed?.kind;
    },
    { waitMs: 600_000, lockMs: 200 },
  );
  expect(kept).toBe("fresh");
  await expect(
    other.transaction(
      async (tx) => {
        tx.boundLocks(5);
        return claims(tx);
      },
      { waitMs: 600_000 },
    ),
  ).rejects.toMatchObject({ code: "STORE_BUSY" });
  await first.commit();
  expect(await store.reader.receipts({}, { limit: 9 })).toHaveLength(2);
});

test("groups with the same events in another order wait for each other, and neither loses a race", async () => {
  const { store, other, url } = await bundle();
  // In the order of asking, each would hold what the other wants once both have waited for the third.
  const claim =
    (...eventIds: readonly string[]) =>
    (tx: StoreTx) =>
      tx.claimReceipts(eventIds.map((eventId) => receiptDraft({ eventId })));
  const first = await stopped(store, claim("evt_3"));
  const waiting = [commit(store, claim("evt_1", "evt_3", "evt_2")), commit(other, claim("evt_2", "evt_3", "evt_1"))];
  await untilBlocked(url, { count: 2 });
  await first.rollBack();
  const results = (await Promise.all(waiting)).map((claimed) => kinds(claimed).join());
  expect(results.toSorted()).toEqual(["fresh,fresh,fresh", "known,known,known"]);
});

test("keys that two handlers owe in another order wait for each other as well", async () => {
  const { store, other, url } = await bundle();
  const owe =
    (...keys: readonly string[]) =>
    (tx: StoreTx) =>
      tx.owe(keys.map((operationKey) => obligationDraft({ operationKey })));
  const first = await stopped(store, owe("c"));
  const waiting = [commit(store, owe("a", "c", "b")), commit(other, owe("b", "c", "a"))];
  await untilBlocked(url, { count: 2 });
  await first.rollBack();
  const results = (await Promise.all(waiting)).map((owed) => kinds(owed).join());
  expect(results.toSorted()).toEqual(["created,created,created", "same,same,same"]);
});

test("who loses a deadlock is told RACE_LOST, nothing of it is kept, and its other statements are refused", async () => {
  const { store, other, url } = await bundle();
  await commit(store, (tx) => tx.run("CREATE TABLE notes (id int PRIMARY KEY, body text)", []));
  await commit(store, (tx) => tx.run("INSERT INTO notes VALUES (1, ''), (2, '')", []));
  const write = (tx: StoreTx, id: number, body: string) =>
    tx.run("UPDATE notes SET body = body || ? WHERE id = ?", [body, id]);
  const both = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
  const after: unknown[] = [];
  const crossing = [store, other].map((each, index) =>
    commit(each, async (tx) => {
      await write(tx, 1 + index, `${index}`);
      both[index]?.resolve();
      await Promise.all(both.map(({ promise }) => promise));
      // A handler that swallows its loss cannot go on in a transaction that has to run again.
      const lost = await tx
        .attempt(() => write(tx, 2 - index, `${index}`))
        .then(
          () => undefined,
          (error: unknown) => error,
        );
      if (lost === undefined) return;
      after.push(lost, await tx.touch().catch((error: unknown) => error));
    }),
  );
  const results = await Promise.allSettled(crossing);
  const [lost] = results.filter(({ status }) => status === "rejected");
  expect(lost).toMatchObject({ reason: { code: "RACE_LOST" } });
  expect(after).toMatchObject([{ code: "RACE_LOST" }, { code: "TRANSACTION_BROKEN" }]);
  const rows = await ask<{ body: string }>(url, "SELECT body FROM notes ORDER BY id");
  expect(rows[0]?.body).toBe(rows[1]?.body);
  expect(["0", "1"]).toContain(rows[0]?.body);
});

test("a parking that looks once more and an arrival of the same name wait for each other", async () => {
  const { store, other, url } = await bundle();
  const name = { kind: "order", id: "1" };
  const id = await claimedId(store);
  const parking = await stopped(store, async (tx) => {
    await tx.lockNames("acme", [name]);
    await tx.settleReceipts([settledReceipt({ id, outcome: "parked", waitsFor: name })]);
  });
  const arrival = commit(other, async (tx) => {
    await tx.lockNames("acme", [name]);
    return tx.arrive("acme", name);
  });
  await untilBlocked(url);
  const others = [
    ["globex", name],
    ["acme", { kind: "order", id: "2" }],
  ] as const;
  for (const [tenant, named] of others) await commit(other, (tx) => tx.lockNames(tenant, [named]));
  await parking.commit();
  expect(await arrival).toBe(1);
});

test("names are locked in one order, whatever the order of asking", async () => {
  const { store, other, url } = await bundle();
  const names = ["1", "2", "3", "4"].map((id) => ({ kind: "order", id }));
  const first = await stopped(store, (tx) => tx.lockNames("acme", names.slice(1, 3)));
  const waiting = [
    commit(store, (tx) => tx.lockNames("acme", names)),
    commit(other, (tx) => tx.lockNames("acme", names.toReversed())),
  ];
  await untilBlocked(url, { count: 2 });
  await first.commit();
  await Promise.all(waiting);
});

test("two applications in one database do not wait for each other's names", async () => {
  const { store, url } = await bundle();
  const second = storeAt(url, { schema: "Second app" });
  onTestFinished(() => second.close());
  await second.migrate();
  await second.open();
  const name = { kind: "order", id: "1" };
  const first = await stopped(store, (tx) => tx.lockNames("acme", [name]));
  await commit(second, (tx) => tx.lockNames("acme", [name]));
  await first.commit();
  expect(kinds(await commit(second, (tx) => tx.claimReceipts([receiptDraft()])))).toEqual(["fresh"]);
  expect(await store.reader.receipts({}, { limit: 1 })).toEqual([]);
  await ask(url, 'DROP SCHEMA "Second app" CASCADE');
});

test("what one worker applies now is passed by, and a redelivery of it does not wait", async () => {
  const { store, other } = await bundle();
  const [first, second] = [await claimedId(store, { eventId: "1" }), await claimedId(store, { eventId: "2" })];
  await commit(store, (tx) =>
    tx.settleReceipts([first, second].map((id) => settledReceipt({ id, outcome: "held", dueAt: tx.now }))),
  );
  const due = (limit: number) => (tx: StoreTx) => tx.dueReceipts({ limit, connections: ["stripe"] });
  const working = await stopped(store, due(1));
  expect((await commit(other, due(9))).map(({ id }) => id)).toEqual([second]);
  await commit(other, (tx) => tx.recordRedeliveries([{ receiptId: first, mismatch: null }]));
  await working.rollBack();
  expect(await store.reader.receipt(first)).toMatchObject({ receipt: { deliveries: 2 } });
});

test("an event that was decided while another worker looked for it is not given to that", async () => {
  const { store, other } = await bundle();
  const id = await claimedId(store);
  await commit(store, (tx) => tx.settleReceipts([settledReceipt({ id, outcome: "held", dueAt: tx.now })]));
  const due = (tx: StoreTx) => tx.dueReceipts({ limit: 9, connections: ["stripe"] });
  const takes = Array.from({ length: 20 }, (_, index) =>
    commit(index % 2 ? store : other, async (tx) => {
      const found = await due(tx);
      await tx.settleReceipts(found.map(({ id, version }) => settledReceipt({ id, version })));
      return found.length;
    }),
  );
  expect((await Promise.all(takes)).reduce((sum, length) => sum + length)).toBe(1);
});

test("a claim passes by what another worker is claiming, and waits for nobody", async () => {
  const { store, other } = await bundle();
  await commit(store, (tx) => tx.owe(["a", "b", "c"].map((operationKey) => obligationDraft({ operationKey }))));
  const lanes = [{ effect: "ship/v1", destination: "https://carrier.example", calls: true, limit: 2 }];
  const claim = (worker: string) => (tx: StoreTx) => tx.claim({ lanes, worker, leaseMs: 1_000 });
  const first = await stopped(store, claim("one"));
  const claims = await commit(other, claim("two"));
  expect(claims.map(({ obligation }) => obligation.operationKey)).toEqual(["c"]);
  await first.commit();
});

/** Two obligations of one order key: the first is claimed, the other waits for it. */
async function ordered(store: Store) {
  const orderKey = "acme/order-1";
  const first = await claimedObligation(store, { operationKey: "first", orderKey });
  await owedId(store, { operationKey: "second", orderKey });
  return first;
}

const states = async (store: Store) =>
  (await store.reader.obligations({ tenant: "acme" }, { limit: 10 })).map(({ state, dueAt }) => [
    state,
    dueAt !== null,
  ]);

/** Gives up what is locked, as an operator does. */
const giveUp = (tx: StoreTx, obligation: Obligation) =>
  tx.move([moveOf({ obligation, fence: obligation.fence }, { state: "cancelled", dueAt: null }, { raiseFence: true })]);

test("who gives up what waits for its turn, and who gives it that turn, take the order key first", async () => {
  const { store, other, url } = await bundle();
  const first = await ordered(store);
  const found = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const givenUp = commit(store, async (tx) => {
    const second = await tx.lockObligation("acme", "second");
    found.resolve();
    await goOn.promise;
    return giveUp(tx, second!);
  });
  await found.promise;
  const settled = commit(other, (tx) => tx.move([moveOf(first, { state: "done" }, { attempt: attemptEnd() })]));
  await untilBlocked(url);
  goOn.resolve();
  expect([await givenUp, await settled]).toEqual([[true], [true]]);
  expect(await states(store)).toEqual([
    ["cancelled", false],
    ["done", false],
  ]);
});

test("who is about to give up what has its turn meanwhile runs again, and holds nobody up", async () => {
  const { store, other, url } = await bundle();
  const first = await ordered(store);
  const settled = await stopped(other, (tx) => tx.move([moveOf(first, { state: "done" }, { attempt: attemptEnd() })]));
  const lock = () => commit(store, (tx) => tx.lockObligation("acme", "second"));
  const locked = lock();
  await untilBlocked(url);
  await settled.commit();
  await expect(locked).rejects.toMatchObject({ code: "RACE_LOST" });
  expect(await lock()).toMatchObject({ state: "owed", dueAt: expect.any(Number) });
});

test("who waits for a connection is told STORE_BUSY once its time is over, and loses its place", async () => {
  const { url } = await bundle();
  const small = storeAt(url, { pool: poolAt(url, { connectionsMax: 1 }) });
  onTestFinished(() => small.close());
  await small.open();
  const holding = await stopped(small, (tx) => tx.touch());
  await expect(small.transaction((tx) => tx.touch(), { waitMs: 100 })).rejects.toMatchObject({ code: "STORE_BUSY" });
  await holding.commit();
  await small.transaction((tx) => tx.touch(), { waitMs: 30_000 });
});
