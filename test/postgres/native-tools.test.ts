/** `tx.native` inside handlers: the handle of `pg`, and what Drizzle and Kysely make of it. */

import type { HandlerContext } from "counterfoil";
import { eq, sql as drizzleSql } from "drizzle-orm";
import { drizzle, type NodePgDatabase } from "drizzle-orm/node-postgres";
import { pgTable, text } from "drizzle-orm/pg-core";
import { Kysely, PostgresDialect, sql as kyselySql } from "kysely";
import type { PoolClient } from "pg";
import { beforeEach, describe, expect, test } from "vitest";
import { ask } from "../support/postgres-query.ts";
import { type OwnTransactions, ownTransactions } from "./own-transaction.ts";

const orders = pgTable("orders", { id: text("id").primaryKey(), status: text("status") });

interface Database {
  orders: { id: string; status: string | null };
}

/** What a tool does with the handle, each in its own way. */
interface Tool {
  readonly name: string;
  readonly insert: (native: unknown, id: string) => Promise<unknown>;
  readonly update: (native: unknown, id: string) => Promise<number>;
  readonly statuses: (native: unknown) => Promise<readonly (string | null)[]>;
  /** A transaction of the tool's own inside of ours. */
  readonly nested: (native: unknown, body: (inner: unknown) => Promise<unknown>) => Promise<unknown>;
  readonly raw: (native: unknown, statement: string) => Promise<unknown>;
}

const kysely = (native: unknown): Kysely<Database> =>
  new Kysely<Database>({ dialect: new PostgresDialect({ pool: native as never }) });

const tools: readonly Tool[] = [
  {
    name: "pg",
    insert: (native, id) => client(native).query("INSERT INTO orders VALUES ($1, 'new')", [id]),
    update: async (native, id) =>
      (await client(native).query("UPDATE orders SET status = 'paid' WHERE id = $1", [id])).rowCount ?? -1,
    statuses: async (native) =>
      (await client(native).query("SELECT status FROM orders ORDER BY id")).rows.map(({ status }) => status),
    nested: async (native, body) => {
      await client(native).query("BEGIN");
      try {
        await body(native);
        await client(native).query("COMMIT");
      } catch (error) {
        await client(native).query("ROLLBACK");
        throw error;
      }
    },
    raw: (native, statement) => client(native).query(statement),
  },
  {
    name: "Drizzle",
    insert: async (native, id) => of(native).insert(orders).values({ id, status: "new" }),
    update: async (native, id) =>
      (await of(native).update(orders).set({ status: "paid" }).where(eq(orders.id, id))).rowCount ?? -1,
    statuses: async (native) => (await of(native).select().from(orders).orderBy(orders.id)).map(({ status }) => status),
    nested: (native, body) => of(native).transaction((tx) => body(tx)),
    raw: async (native, statement) => of(native).execute(drizzleSql.raw(statement)),
  },
  {
    name: "Kysely",
    insert: (native, id) => on(native).insertInto("orders").values({ id, status: "new" }).execute(),
    update: async (native, id) => {
      const { numUpdatedRows } = await on(native)
        .updateTable("orders")
        .set({ status: "paid" })
        .where("id", "=", id)
        .executeTakeFirst();
      return Number(numUpdatedRows);
    },
    statuses: async (native) =>
      (await on(native).selectFrom("orders").select("status").orderBy("id").execute()).map(({ status }) => status),
    nested: (native, body) =>
      on(native)
        .transaction()
        .execute((trx) => body(trx)),
    raw: (native, statement) => kyselySql.raw(statement).execute(on(native)),
  },
];

function client(native: unknown): PoolClient {
  return native as PoolClient;
}

/** Drizzle itself, or its transaction. */
function of(native: unknown): NodePgDatabase {
  return (native as { execute?: unknown }).execute === undefined ? drizzle(client(native)) : (native as never);
}

/** Kysely itself, or its transaction. */
function on(native: unknown): Kysely<Database> {
  return native instanceof Kysely ? native : kysely(native);
}

let own: OwnTransactions;
beforeEach(async () => {
  own = await ownTransactions();
});

/** Has the handler of one event do something with the handle. */
async function handled(id: string, handle: (native: unknown, context: HandlerContext) => Promise<unknown>) {
  own.handle = async (context) => void (await handle(context.tx.native, context));
  const body = new TextEncoder().encode(JSON.stringify({ type: "order", data: { id } }));
  return own.app.receive("shop", own.app.trialDelivery("shop", { id, body }));
}
const stored = async (): Promise<readonly unknown[]> =>
  (await ask(own.url, "SELECT id || ' ' || status AS row FROM orders ORDER BY id")).map(({ row }) => row);

describe.each(tools)("$name in a handler", (tool) => {
  test("reads and writes in the transaction of the receipt", async () => {
    const seen: unknown[] = [];
    await handled("evt_1", async (native, { tx, owe }) => {
      await tool.insert(native, "1");
      await tx.sql`INSERT INTO orders VALUES ('2', 'new')`;
      seen.push(await tool.update(native, "1"), await tool.update(native, "9"), await tool.statuses(native));
      await owe(own.parcel, { key: ["1"], input: { to: "a" } });
      expect(await stored()).toEqual([]);
    });
    expect(seen).toEqual([1, 0, ["paid", "new"]]);
    expect([await stored(), await own.owed()]).toEqual([["1 paid", "2 new"], ["1"]]);
  });

  test("leaves nothing where the handler fails or decides against its event", async () => {
    const failed = handled("evt_1", async (native) => {
      await tool.insert(native, "1");
      throw new Error("no");
    });
    await expect(failed).rejects.toMatchObject({ code: "HANDLER_FAILED" });
    await handled("evt_2", async (native, { refuse }) => {
      await tool.insert(native, "2");
      refuse("not today");
    });
    expect(await stored()).toEqual([]);
    expect(await ask(own.url, "SELECT event_id, outcome FROM counterfoil.receipts")).toEqual([
      { event_id: "evt_2", outcome: "refused" },
    ]);
  });

  test("its own transaction is a savepoint: rolled back, it undoes its part; committed, it commits nothing", async () => {
    await handled("evt_1", async (native) => {
      await tool.insert(native, "1");
      const undone = tool.nested(native, async (inner) => {
        await tool.insert(inner, "2");
        throw new Error("undo");
      });
      await expect(undone).rejects.toThrow("undo");
      await tool.nested(native, (inner) => tool.insert(inner, "3"));
      expect(await stored()).toEqual([]);
    });
    expect(await stored()).toEqual(["1 new", "3 new"]);
    const failed = handled("evt_2", async (native) => {
      await tool.nested(native, (inner) => tool.insert(inner, "4"));
      throw new Error("no");
    });
    await expect(failed).rejects.toThrow();
    expect(await stored()).toEqual(["1 new", "3 new"]);
  });

  test.each([
    "COMMIT",
    "ROLLBACK",
    "COMMIT; BEGIN",
    "PREPARE TRANSACTION 'x'",
    "SET search_path = 'elsewhere'",
    "BEGIN; COMMIT",
  ])("%s is refused, and nothing of the handler is kept", async (statement) => {
    const met: unknown[] = [];
    const controlled = handled("evt_1", async (native) => {
      await tool.insert(native, "1");
      await tool.raw(native, statement).catch((error: unknown) => void met.push(rootOf(error)));
      await tool.insert(native, "2");
    });
    await expect(controlled).rejects.toBeInstanceOf(Error);
    expect(met).toMatchObject([{ code: expect.stringMatching(/^(?:TRANSACTION_CONTROL|42601)$/) }]);
    expect([await stored(), await ask(own.url, "SELECT FROM counterfoil.receipts")]).toEqual([[], []]);
  });

  test("is dead once its handler has ended, whoever holds the connection then", async () => {
    const kept: { native?: unknown } = {};
    await handled("evt_1", async (native) => {
      kept.native = native;
      await tool.insert(native, "1");
    });
    const late = async (): Promise<unknown> =>
      rootOf(
        await tool.insert(kept.native, "2").then(
          () => "kept",
          (error: unknown) => error,
        ),
      );
    expect(await late()).toMatchObject({ code: "TRANSACTION_CLOSED" });
    await handled("evt_2", async () => expect(await late()).toMatchObject({ code: "TRANSACTION_CLOSED" }));
    expect(await stored()).toEqual(["1 new"]);
  });
});

/** Tools put errors into errors of theirs. */
function rootOf(error: unknown): unknown {
  return error instanceof Error && error.cause instanceof Error && !("code" in error && error.code)
    ? rootOf(error.cause)
    : error;
}
