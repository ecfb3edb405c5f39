import { EventEmitter } from "node:events";
import { Logger, makeWorkerUtils, run as startRunner, type WorkerEvents } from "graphile-worker";
import { drainMeter, queueArguments } from "./drain-meter.ts";
import { run } from "./postgres.ts";

const insertMax = 1_000;

/** Stores the jobs, drains them with these settings of graphile-worker, and prints the result. */
export async function drainByGraphile(worker: GraphileConfig.WorkerOptions): Promise<void> {
  const { place, jobs } = queueArguments();
  const logger = new Logger(() => () => undefined);
  const preset = { worker: { ...worker, connectionString: place, logger } };
  const utils = await makeWorkerUtils({ preset });
  await utils.migrate();
  for (let from = 0; from < jobs; from += insertMax) {
    const length = Math.min(insertMax, jobs - from);
    const orders = Array.from({ length }, (_, index) => ({ order: `order-${from + index}` }));
    await utils.addJobs(orders.map((payload) => ({ identifier: "ship", payload })));
  }
  await utils.release();
  await run(place, "VACUUM ANALYZE");

  const meter = drainMeter(jobs);
  const drained = Promise.withResolvers<void>();
  const startedAt = new Map<string, number>();
  const events: WorkerEvents = new EventEmitter();
  events.on("job:start", ({ job }) => startedAt.set(job.id, performance.now()));
  // It tells the end of a job while that is still being written; its stop waits until the last one is.
  events.on("job:complete", ({ job }) => {
    meter.done(1, startedAt.get(job.id));
    if (meter.isDrained()) drained.resolve();
  });
  meter.start();
  const runner = await startRunner({
    preset: { worker: { ...preset.worker, events } },
    taskList: { ship: () => undefined },
    noHandleSignals: true,
  });
  await drained.promise;
  await runner.stop();
  meter.done(0);
  meter.print();
}
