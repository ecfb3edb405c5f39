/** `npm run -s failover`: see the usage below. */
import { parseArgs } from "node:util";
import { failover } from "./failover.ts";
import { report } from "./report.ts";

const usage = `Usage: npm run -s failover -- [options]

  --receivers N    receiver processes (default 4)
  --workers N      worker processes (default 4)
  --deliveries N   deliveries; the replica is promoted after half of them (default 10000)
  --calm N         deliveries between two incidents (default 400)
  --seed N         even: the replica is promoted before the primary is killed; odd: after it
`;

const { values } = parseArgs({
  options: {
    receivers: { type: "string", default: "4" },
    workers: { type: "string", default: "4" },
    deliveries: { type: "string", default: "10000" },
    calm: { type: "string", default: "400" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 2 ** 31)) },
    help: { type: "boolean", default: false },
  },
});
if (values.help) {
  process.stdout.write(usage);
  process.exit(0);
}

console.error(`failover, seed ${values.seed}`);
const done = await failover({
  receivers: Number(values.receivers),
  workers: Number(values.workers),
  deliveries: Number(values.deliveries),
  calm: Number(values.calm),
  seed: Number(values.seed),
  drainMs: 300_000,
  onProgress: (line) => console.error(line),
});
process.exit(report(done, values.seed));
