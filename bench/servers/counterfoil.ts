/** Counterfoil as `counterfoil serve --role receiver` runs it, on either store: HTTP in a thread of its own. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { announceListening } from "../kit/child.ts";
import { isAddress } from "../kit/place.ts";
import { createOrders, createOrdersAt } from "../kit/shop.ts";

const place = process.argv[2];
if (place === undefined) throw new TypeError("Cannot start: give the data folder, or the database's address");

// The configuration reads it when it is loaded, in this thread and in the other.
process.env["BENCH_PLACE"] = place;
const configuration = new URL("counterfoil.config.ts", import.meta.url);
const { default: app } = await import("./counterfoil.config.ts");
await app.start({ roles: ["receiver"] });
if (isAddress(place)) {
  await createOrdersAt(place);
} else {
  const database = new DatabaseSync(join(place, "bench.db"));
  createOrders(database);
  database.close();
}
announceListening((await app.listen({ port: 0, thread: configuration })).url);
