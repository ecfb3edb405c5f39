import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";
import { join } from "node:path";
import { dataFolder } from "./data-folder.ts";

const probeMs = 500;

/**
 * One line on what the figures were taken on. The rate of durable 4 KiB appends bounds whatever
 * commits one by one; a rate far above 20,000 means that this disk does not wait for its medium.
 */
export function machineLine(): string {
  const model = cpus()[0]?.model.trim() ?? "unknown CPU";
  return `Node ${process.versions.node}, ${availableParallelism()} cores (${model}), ${durableAppendsPerSecond()} durable 4 KiB appends/s`;
}

function durableAppendsPerSecond(): number {
  using folder = dataFolder();
  const file = openSync(join(folder.path, "probe"), "w");
  const page = Buffer.alloc(4096, 1);
  const start = performance.now();
  let count = 0;
  while (performance.now() - start < probeMs) {
    writeSync(file, page);
    fdatasyncSync(file);
    count += 1;
  }
  closeSync(file);
  return Math.round(count / (probeMs / 1000));
}
