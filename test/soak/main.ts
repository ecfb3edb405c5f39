/** `npm run -s soak`: see the usage below. The whole of it is what the gate runs in short. */
import { parseArgs } from "node:util";
import { sqliteDatabase } from "../support/sqlite-database.ts";
import { onPostgres } from "./on-postgres.ts";
import { report } from "./report.ts";
import { soak } from "./soak.ts";

const usage = `Usage: npm run -s soak -- [options]

  --receivers N    receiver processes (default 8)
  --workers N      worker processes (default 8)
  --deliveries N   deliveries, three in ten of them copies (default 200000)
  --calm N         deliveries between two incidents (default 1000); each takes a second or more
  --connections N  senders at the same time (default 8 for each receiver)
  --seed N         of everything that chance decides but the order in which processes run
  --store NAME     postgres, a server of its own (default), or sqlite, a file of its own
`;

const { values } = parseArgs({
  options: {
    receivers: { type: "string", default: "8" },
    workers: { type: "string", default: "8" },
    deliveries: { type: "string", default: "200000" },
    calm: { type: "string", default: "1000" },
    connections: { type: "string" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 2 ** 31)) },
    store: { type: "string", default: "postgres" },
    help: { type: "boolean", default: false },
  },
});
if (values.help || (values.store !== "postgres" && values.store !== "sqlite")) {
  process.stdout.write(usage);
  process.exit(values.help ? 0 : 2);
}

// Many processes on a small machine: the providers, which stand in this process, may themselves come late.
process.env["SOAK_SETTLE_DELAY"] ??= "30s";
await using stack = new AsyncDisposableStack();
const say = (line: string): void => console.error(line);
say(`soak on ${values.store}, seed ${values.seed}`);
const done = await soak({
  ...(values.store === "postgres" ? await onPostgres(stack) : { books: stack.use(await sqliteDatabase({})) }),
  receivers: Number(values.receivers),
  workers: Number(values.workers),
  deliveries: Number(values.deliveries),
  calm: Number(values.calm),
  connections: Number(values.connections ?? 8 * Number(values.receivers)),
  seed: Number(values.seed),
  drainMs: 600_000,
  onProgress: say,
});
process.exit(report(done, values.seed));
