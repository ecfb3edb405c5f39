/** app.within on PostgreSQL: what the user's transaction is before, meanwhile and after. */

import type { UserTransaction } from "counterfoil";
import { fromPg, fromTypeorm } from "counterfoil/adapters";
import { Client } from "pg";
import { DataSource } from "typeorm";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { eventually } from "../../src/testing/eventually.ts";
import { ask, untilBlocked } from "../support/postgres-query.ts";
import { postgresServer } from "../support/postgres.ts";
import { type OwnTransactions, ownTransactions } from "./own-transaction.ts";

let own: OwnTransactions;
beforeEach(async () => {
  own = await ownTransactions();
});

const input = { to: "somebody" };

describe("what is handed over", () => {
  test("has a transaction open: a client without one is refused, and so is a pool", async () => {
    const idle = await own.begun("SELECT 1");
    await expect(own.work(idle, () => "done")).rejects.toMatchObject({ code: "TRANSACTION_CLOSED" });
    await expect(own.receive(idle, "evt_1")).rejects.toMatchObject({ code: "TRANSACTION_CLOSED" });
    expect(await ask(own.url, "SELECT FROM counterfoil.receipts")).toEqual([]);
  });

  test("is what an adapter makes: a client itself is refused", async () => {
    const client = await own.begun();
    const work = own.app.within(client as never).run({ tenant: "acme" }, () => "done");
    await expect(work).rejects.toThrow(/such as fromPg\(client\)/);
  });

  test("has not failed yet", async () => {
    const client = await own.begun();
    await expect(client.query("SELECT * FROM nowhere")).rejects.toThrow();
    await expect(own.work(client, () => "done")).rejects.toMatchObject({ code: "TRANSACTION_POISONED" });
  });

  test("is on a database with the store's tables", async () => {
    const elsewhere = await (await postgresServer()).createDatabase();
    const client = new Client(elsewhere.url);
    onTestFinished(async () => {
      await client.end();
      await elsewhere[Symbol.asyncDispose]();
    });
    await client.connect();
    await client.query("BEGIN");
    await expect(own.work(client, () => "done")).rejects.toMatchObject({ code: "STORE_UNSUPPORTED" });
    await client.query("SELECT 1");
  });
});

describe("meanwhile", () => {
  test("a transaction that its body ends is broken", async () => {
    const client = await own.begun();
    const ended = own.work(client, async ({ owe }) => {
      await client.query("COMMIT");
      await owe(own.parcel, { key: ["late"], input });
    });
    await expect(ended).rejects.toMatchObject({ code: "TRANSACTION_BROKEN" });
    expect(await own.owed()).toEqual([]);
  });

  test("a statement of the tool's own that fails fails the body, also one that caught the error", async () => {
    const client = await own.begun();
    await client.query("INSERT INTO orders VALUES ('1', 'new')");
    const body = own.work(client, async ({ owe }) => {
      await client.query("INSERT INTO nowhere VALUES (1)").catch(() => undefined);
      await owe(own.parcel, { key: ["swallowed"], input });
    });
    await expect(body).rejects.toMatchObject({ code: "TRANSACTION_POISONED" });
    await expect(
      own.work(client, async () => {
        await client.query("INSERT INTO nowhere VALUES (1)").catch(() => undefined);
      }),
    ).rejects.toMatchObject({ code: "TRANSACTION_POISONED" });
    await client.query("COMMIT");
    expect(await ask(own.url, "SELECT id FROM orders")).toEqual([{ id: "1" }]);
    expect(await own.owed()).toEqual([]);
  });

  test("tx.native is not there: the tool has the connection", async () => {
    const client = await own.begun();
    await expect(own.work(client, ({ tx }) => tx.native)).rejects.toThrow(/use your tool, or tx.sql/);
    await client.query("SELECT 1");
  });

  test("a transaction of the store's own is refused: it could wait for this one for ever", async () => {
    const client = await own.begun();
    const nested = own.work(client, () => own.app.transaction({ tenant: "acme" }, () => "nested"));
    await expect(nested).rejects.toMatchObject({ code: "TRANSACTION_CONTROL" });
  });

  test("an event waits for its prerequisite under the lock that an arrival takes", async () => {
    own.handle = ({ waitFor }) => waitFor("order", "1042");
    const child = await own.begun();
    expect(await own.receive(child, "evt_child")).toMatchObject({ outcome: "parked" });
    const parent = await own.begun();
    const arrived = own.work(parent, ({ arrived: tell }) => tell("order", "1042"));
    await untilBlocked(own.url);
    await child.query("COMMIT");
    await arrived;
    own.handle = () => undefined;
    await parent.query("COMMIT");
    await own.app.drain();
    expect(await ask(own.url, "SELECT outcome FROM counterfoil.receipts")).toEqual([{ outcome: "applied" }]);
  });
});

describe("races", () => {
  test("a deadlock is a lost race of the user's whole transaction, which a second run wins", async () => {
    await ask(own.url, "INSERT INTO orders VALUES ('1', 'new'), ('2', 'new')");
    const met: unknown[] = [];
    const both = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const transfer = async (index: 0 | 1): Promise<void> => {
      const client = await own.begun();
      await client.query("UPDATE orders SET status = 'held' WHERE id = $1", [String(index + 1)]);
      both[index]?.resolve();
      await Promise.all(both.map(({ promise }) => promise));
      try {
        await own.work(client, async ({ tx, owe }) => {
          await tx.sql`UPDATE orders SET status = 'moved' WHERE id = ${String(2 - index)}`;
          await owe(own.parcel, { key: [`by-${index}`], input });
        });
        await client.query("COMMIT");
      } catch (error) {
        met.push(error);
        await client.query("ROLLBACK");
        await transfer(index);
      }
    };
    await Promise.all([transfer(0), transfer(1)]);
    expect(met).toMatchObject([{ code: "RACE_LOST", message: expect.stringMatching(/run it again from its start/) }]);
    expect(await own.owed()).toEqual(["by-0", "by-1"]);
  });

  test("a copy that was committed behind a snapshot of the user's transaction is a lost race, then a duplicate", async () => {
    const repeatable = await own.begun("BEGIN ISOLATION LEVEL REPEATABLE READ");
    await repeatable.query("SELECT 1 FROM orders");
    const first = await own.begun();
    await own.receive(first, "evt_1");
    await first.query("COMMIT");
    await expect(own.receive(repeatable, "evt_1")).rejects.toMatchObject({ code: "RACE_LOST" });
    await repeatable.query("ROLLBACK");
    const again = await own.begun("BEGIN ISOLATION LEVEL REPEATABLE READ");
    expect(await own.receive(again, "evt_1")).toMatchObject({ duplicate: true });
    await again.query("COMMIT");
  });

  test("a wait for a copy ends, also where the user's transaction has no limit of its own", async () => {
    const [first, second] = [await own.begun(), await own.begun()];
    await own.receive(first, "evt_1");
    await expect(own.receive(second, "evt_1")).rejects.toMatchObject({ code: "STORE_BUSY" });
    await second.query("INSERT INTO orders VALUES ('1', 'new')");
    await second.query("COMMIT");
    await first.query("ROLLBACK");
    expect(await ask(own.url, "SELECT id FROM orders")).toEqual([{ id: "1" }]);
  });
});

describe("afterwards", () => {
  const setting = async (client: Client, name: string): Promise<unknown> =>
    (await client.query(`SHOW ${name}`)).rows[0]?.[name];

  test("settings are as before, but that the commit reaches the disk", async () => {
    const client = await own.begun();
    await client.query("SET LOCAL synchronous_commit = off");
    await own.work(client, () => "done");
    expect(await setting(client, "lock_timeout")).toBe("0");
    expect(await setting(client, "synchronous_commit")).toBe("on");
    await client.query("SET LOCAL lock_timeout = '77ms'");
    await own.work(client, async () => expect(await setting(client, "lock_timeout")).toBe("77ms"));
    expect(await setting(client, "lock_timeout")).toBe("77ms");
    await own.work(client, () => Promise.reject(new Error("no"))).catch(() => undefined);
    expect(await setting(client, "lock_timeout")).toBe("77ms");
  });

  test("a savepoint of the user's takes back what was done behind it", async () => {
    const client = await own.begun();
    await own.work(client, ({ owe }) => owe(own.parcel, { key: ["kept"], input }));
    await client.query("SAVEPOINT mine");
    await own.work(client, ({ owe }) => owe(own.parcel, { key: ["taken-back"], input }));
    await client.query("ROLLBACK TO mine");
    await client.query("COMMIT");
    expect(await own.owed()).toEqual(["kept"]);
  });

  test("what is owed is carried out by a worker once the user commits, and never before", async () => {
    const { carrier, parcel } = own;
    await own.app.start({ roles: ["worker"] });
    const [committed, rolledBack] = [await own.begun(), await own.begun()];
    const owing = (key: string) => (context: Parameters<Parameters<OwnTransactions["work"]>[1]>[0]) =>
      context.owe(parcel, { key: [key], input });
    await own.work(committed, owing("committed"));
    await own.work(rolledBack, owing("rolled-back"));
    expect(carrier.counts().requests).toBe(0);
    await committed.query("COMMIT");
    await rolledBack.query("ROLLBACK");
    await eventually(async () => (await own.app.operator({ who: "test" }).obligations({ state: "done" })).length === 1);
    expect(await own.owed()).toEqual(["committed"]);
    expect(carrier.counts()).toMatchObject({ effects: 1 });
  });

  test("a body that takes too long is undone and may not come back", async () => {
    const hasty = await ownTransactions({ handlerMs: 300 });
    const client = await hasty.begun();
    const later = Promise.withResolvers<void>();
    const late = Promise.withResolvers<unknown>();
    const slow = hasty.work(client, async ({ owe, tx }) => {
      await owe(hasty.parcel, { key: ["slow"], input });
      await later.promise;
      tx.sql`SELECT 1`.then(late.resolve, late.resolve);
    });
    await expect(slow).rejects.toMatchObject({ code: "HANDLER_UNFINISHED" });
    later.resolve();
    expect(await late.promise).toMatchObject({ code: "TRANSACTION_CLOSED" });
    await client.query("COMMIT");
    expect(await hasty.owed()).toEqual([]);
  });
});

test("nothing more is sent on a connection that is gone: some tools never answer then", async () => {
  const client = await own.begun();
  const { query } = fromPg(client);
  const sent: string[] = [];
  const gone: UserTransaction = {
    handle: client,
    query: async (statement) => {
      sent.push(statement.text);
      if (sent.includes("SELECT 'gone'")) throw Object.assign(new Error("terminated"), { code: "57P01" });
      return query(statement);
    },
  };
  const work = own.app.within(gone).run({ tenant: "acme" }, ({ tx }) => tx.sql`SELECT 'gone'`);
  await expect(work).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  expect(sent.at(-1)).toBe("SELECT 'gone'");
});

test("a transaction of TypeORM that has ended is refused, also while its client is in another one", async () => {
  const source = new DataSource({ type: "postgres", url: own.url, extra: { max: 1 } });
  await source.initialize();
  onTestFinished(() => source.destroy());
  const late = await source.transaction(async (manager) => manager);
  await source.transaction(async () => {
    const work = own.app.within(fromTypeorm(late)).run({ tenant: "acme" }, () => "done");
    await expect(work).rejects.toMatchObject({ code: "TRANSACTION_CLOSED" });
  });
});

test("adapters of one's own are told apart by the handle that they give", async () => {
  const client = await own.begun();
  const { query } = fromPg(client);
  const work = own.app.within({ handle: client, query });
  const [one, two] = await Promise.allSettled([
    work.run({ tenant: "acme" }, () => "one"),
    own.work(client, () => "two"),
  ]);
  expect([one.status, two.status]).toEqual(["fulfilled", "rejected"]);
});
