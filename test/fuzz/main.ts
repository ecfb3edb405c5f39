/** `npm run -s fuzz -- --requests 1000000 --seed 1`: what the gate does with fewer. */
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { memoryFolder } from "../support/memory-folder.ts";
import { fuzzApp } from "./fuzz-app.ts";
import { fuzz } from "./fuzz.ts";

const { values } = parseArgs({
  options: {
    requests: { type: "string", default: "1000000" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 2 ** 30)) },
  },
});
const [requests, seed] = [Number(values.requests), Number(values.seed)];
process.stderr.write(`fuzz: ${requests} requests, seed ${seed}\n`);

const folder = await mkdtemp(join(memoryFolder(), "counterfoil-fuzz-"));
const app = fuzzApp(join(folder, "fuzz.db"));
try {
  await app.open();
  const { port } = await app.listen({ port: 0 });
  const before = process.memoryUsage().rss;
  const { statuses, wrong } = await fuzz({ port, requests, seed });
  const { receipts } = await app.runtime.store.reader.counts();
  const grownBytes = process.memoryUsage().rss - before;
  process.stdout.write(`${JSON.stringify({ requests, seed, statuses, wrong, receipts, grownBytes })}\n`);
  if (wrong.length > 0 || Object.keys(receipts).length > 0) process.exitCode = 1;
} finally {
  await app.stop();
  await rm(folder, { recursive: true });
}
