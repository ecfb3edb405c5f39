import type { DatabaseSync } from "node:sqlite";
import { run } from "./postgres.ts";

/** Orders that every server with a database starts with; the load pays each of them at most once. */
export const ordersCount = 160_000;

/** The id of the order that an index stands for, of the same length for every index. */
export function orderId(index: number): string {
  return `order-${String(index).padStart(6, "0")}`;
}

/** Creates the business table that all contenders share, filled with orders that await their payment. */
export function createOrders(database: DatabaseSync): void {
  database.exec("CREATE TABLE orders (id TEXT PRIMARY KEY, status TEXT NOT NULL) STRICT");
  database.exec("BEGIN");
  const insert = database.prepare("INSERT INTO orders (id, status) VALUES (?, 'awaiting_payment')");
  for (let index = 0; index < ordersCount; index++) insert.run(orderId(index));
  database.exec("COMMIT");
}

/** The same on PostgreSQL, and everything that is in the database analysed, as autovacuum would soon do. */
export async function createOrdersAt(url: string): Promise<void> {
  await run(url, "CREATE TABLE orders (id text PRIMARY KEY, status text NOT NULL)");
  const ids = `SELECT 'order-' || lpad(i::text, 6, '0') FROM generate_series(0, ${ordersCount - 1}) AS i`;
  await run(url, `INSERT INTO orders (id, status) SELECT id, 'awaiting_payment' FROM (${ids}) AS o (id)`);
  await run(url, "VACUUM ANALYZE");
}
