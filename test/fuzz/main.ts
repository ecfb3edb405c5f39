/**
 * `npm run -s fuzz -- --requests 1000000 --seed 1`: what the gate does with fewer. `--minutes` ends a run
 * that has not come to its last request by then, and the report says how many were sent.
 */

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
    minutes: { type: "string", default: "Infinity" },
  },
});
const [requests, seed, minutes] = [Number(values.requests), Number(values.seed), Number(values.minutes)];
const grownMiBMax = 512;
process.stderr.write(`fuzz: ${requests} requests, seed ${seed}\n`);

const folder = await mkdtemp(join(memoryFolder(), "counterfoil-fuzz-"));
const app = fuzzApp(join(folder, "fuzz.db"));
try {
  await app.open();
  const { port } = await app.listen({ port: 0 });
  const before = process.memoryUsage().rss;
  const endMs = performance.now() + minutes * 60_000;
  const { statuses, wrong } = await fuzz({ port, requests, seed, isOver: () => performance.now() > endMs });
  const sent = Object.values(statuses).reduce((sum, count) => sum + count, 0);
  const { receipts } = await app.runtime.store.reader.counts();
  // The kernel's own highest mark, in KiB: also what was given back since counts.
  const grownMiB = Math.round((process.resourceUsage().maxRSS - before / 1_024) / 1_024);
  process.stdout.write(`${JSON.stringify({ sent, seed, statuses, wrong, receipts, grownMiB })}\n`);
  if (wrong.length > 0 || Object.keys(receipts).length > 0 || grownMiB > grownMiBMax) process.exitCode = 1;
} finally {
  await app.stop();
  await rm(folder, { recursive: true });
}
