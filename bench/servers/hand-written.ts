/**
 * The contender to beat: the receiver that a good developer writes by hand. One durable transaction
 * a delivery holds the receipt, the guarded change of the order and the owed work; the 200 follows
 * its commit. It keeps no payload, which spares it a kilobyte a delivery that Counterfoil writes.
 */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { announceListening } from "../kit/child.ts";
import { createOrders } from "../kit/shop.ts";
import { stripeReceiver, type PaymentEvent } from "./stripe-receiver.ts";

const folder = process.argv[2];
const secret = process.env["STRIPE_SECRET"];
if (folder === undefined || secret === undefined) {
  throw new TypeError("Cannot start: give the data folder as argument and STRIPE_SECRET");
}

const database = new DatabaseSync(join(folder, "bench.db"));
database.exec("PRAGMA journal_mode = WAL");
database.exec("PRAGMA synchronous = FULL");
database.exec("PRAGMA busy_timeout = 5000");
createOrders(database);
database.exec(`
  CREATE TABLE receipts (
    id TEXT PRIMARY KEY, type TEXT NOT NULL, received_at INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE obligations (
    id INTEGER PRIMARY KEY, operation_key TEXT NOT NULL UNIQUE, order_id TEXT NOT NULL,
    state TEXT NOT NULL, due_at INTEGER NOT NULL
  ) STRICT;
`);
const begin = database.prepare("BEGIN IMMEDIATE");
const commit = database.prepare("COMMIT");
const rollback = database.prepare("ROLLBACK");
const insertReceipt = database.prepare(
  "INSERT INTO receipts (id, type, received_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
);
const markPaid = database.prepare("UPDATE orders SET status = 'paid' WHERE id = ? AND status = 'awaiting_payment'");
const insertObligation = database.prepare(
  "INSERT INTO obligations (operation_key, order_id, state, due_at) VALUES (?, ?, 'owed', ?)",
);

function apply(event: PaymentEvent): void {
  const now = Date.now();
  begin.run();
  try {
    const isNew = insertReceipt.run(event.id, event.type, now).changes === 1;
    if (isNew && event.type === "payment_intent.succeeded") {
      if (markPaid.run(event.order).changes === 1) {
        insertObligation.run(`${event.order}/fulfil/v1`, event.order, now);
      }
    }
    commit.run();
  } catch (error) {
    if (database.isTransaction) rollback.run();
    throw error;
  }
}

const server = stripeReceiver({ secret, apply });
announceListening(await server.listen({ host: "127.0.0.1", port: 0 }));
