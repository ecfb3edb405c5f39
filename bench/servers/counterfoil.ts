/** Counterfoil as `counterfoil serve --role receiver` runs it: HTTP in a thread of its own. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { announceListening } from "../kit/child.ts";
import { createOrders } from "../kit/shop.ts";

const folder = process.argv[2];
if (folder === undefined) throw new TypeError("Cannot start: give the data folder as argument");

// The configuration reads it when it is loaded, in this thread and in the other.
process.env["BENCH_FOLDER"] = folder;
const configuration = new URL("counterfoil.config.ts", import.meta.url);
const { default: app } = await import("./counterfoil.config.ts");
await app.start({ roles: ["receiver"] });
const database = new DatabaseSync(join(folder, "shop.db"));
createOrders(database);
database.close();
announceListening((await app.listen({ port: 0, thread: configuration })).url);
