/**
 * plainjob on better-sqlite3 at its defaults (WAL, synchronous = NORMAL, one job after another).
 * Its logger is silent: the default one prints several lines a job to the console.
 */
import { join } from "node:path";
import Database from "better-sqlite3";
import { better, defineQueue, defineWorker } from "plainjob";
import { drainMeter, queueArguments } from "../kit/drain-meter.ts";

const { folder, jobs } = queueArguments();
const logger = { error() {}, warn() {}, info() {}, debug() {} };
const queue = defineQueue({ connection: better(new Database(join(folder, "jobs.db"))), logger });
const inputs = Array.from({ length: jobs }, (_, index) => ({ order: `order-${index}` }));
queue.addMany("ship", inputs);

const meter = drainMeter(jobs);
const worker = defineWorker("ship", () => {}, {
  queue,
  logger,
  onCompleted() {
    // It goes from one job straight to the next, so the gap between two ends is what a job takes.
    meter.done(1);
    if (meter.isDrained()) void worker.stop();
  },
});
meter.start();
await worker.start();
queue.close();
meter.print();
