/**
 * plainjob at its defaults (WAL, synchronous = NORMAL, one job after another), on node:sqlite: it runs a third
 * faster there than on better-sqlite3, and nothing has to be built to install it.
 * Its logger is silent: the default one prints several lines a job to the console.
 */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type Connection, defineQueue, defineWorker } from "plainjob";
import { drainMeter, queueArguments } from "../kit/drain-meter.ts";

const { place, jobs } = queueArguments();
const logger = { error() {}, warn() {}, info() {}, debug() {} };
const queue = defineQueue({ connection: connect(join(place, "jobs.db")), logger });
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

/** What plainjob asks of a driver. Its own adapters are for better-sqlite3 and Bun. */
function connect(filename: string): Connection {
  const database = new DatabaseSync(filename);
  const within =
    (begin: string, body: (...values: never[]) => unknown) =>
    (...values: never[]): unknown => {
      database.exec(begin);
      try {
        const result = body(...values);
        database.exec("COMMIT");
        return result;
      } catch (error) {
        database.exec("ROLLBACK");
        throw error;
      }
    };
  return {
    driver: "better-sqlite3",
    filename,
    pragma: (statement) => database.exec(`PRAGMA ${statement}`),
    exec: (statement) => database.exec(statement),
    prepare: (statement) => database.prepare(statement) as unknown as ReturnType<Connection["prepare"]>,
    transaction: (body) =>
      Object.assign(within("BEGIN", body), {
        deferred: within("BEGIN", body),
        immediate: within("BEGIN IMMEDIATE", body),
        exclusive: within("BEGIN EXCLUSIVE", body),
      }),
    close: () => database.close(),
  };
}
