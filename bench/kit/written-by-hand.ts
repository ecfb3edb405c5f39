import { Pool } from "pg";
import { run } from "./postgres.ts";
import { createOrdersAt } from "./shop.ts";

/** Connections of a receiver: enough of them that waits for the disk overlap. */
export const connectionsMax: number = Number(process.env["BENCH_POOL"] ?? 16);

/** What a receiver written by hand keeps. The bytes stand apart, so that they can go before the receipt does. */
const tables = `
  CREATE TABLE receipts (id text PRIMARY KEY, type text NOT NULL, received_at timestamptz NOT NULL DEFAULT now());
  CREATE TABLE payloads (receipt_id text PRIMARY KEY, body bytea NOT NULL);
  CREATE TABLE obligations (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, operation_key text NOT NULL UNIQUE, order_id text NOT NULL,
    state text NOT NULL, due_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE INDEX obligations_due ON obligations (due_at) WHERE state = 'owed'`;

/** A pool on the database that this process was started with, the tables in it, and the secret. */
export async function prepared(): Promise<{ readonly pool: Pool; readonly secret: string }> {
  const url = process.argv[2];
  const secret = process.env["STRIPE_SECRET"];
  if (url === undefined || secret === undefined) {
    throw new TypeError("Cannot start: give the database's address as argument and STRIPE_SECRET");
  }
  await run(url, tables);
  await createOrdersAt(url);
  const pool = new Pool({ connectionString: url, max: connectionsMax });
  // A connection that ends while nobody uses it is replaced by the next use.
  pool.on("error", () => undefined);
  return { pool, secret };
}
