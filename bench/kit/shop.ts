import type { DatabaseSync } from "node:sqlite";

/** Orders that every server with a database starts with; the load pays each of them at most once. */
export const ordersCount = 100_000;

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
