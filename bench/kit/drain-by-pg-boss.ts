/**
 * pg-boss by loops that run at once, each of which fetches a batch of jobs by one statement and completes
 * them by one. They use its documented `fetch` and `complete`, as its own workers do, without the pauses
 * of these. The jobs are analysed before the drain: without statistics it is many times slower.
 */
import { PgBoss } from "pg-boss";
import { drainMeter, queueArguments } from "./drain-meter.ts";
import { run } from "./postgres.ts";

const insertMax = 1_000;

interface Drain {
  /** Jobs that are fetched and completed together. */
  readonly batchSize: number;
  /** At the same time. */
  readonly loops: number;
}

/** Stores the jobs, drains them, and prints what it took. */
export async function drainByPgBoss({ batchSize, loops }: Drain): Promise<void> {
  const { place, jobs } = queueArguments();
  const boss = new PgBoss({ connectionString: place });
  boss.on("error", (error) => {
    throw error;
  });
  await boss.start();
  await boss.createQueue("ship");
  for (let from = 0; from < jobs; from += insertMax) {
    const length = Math.min(insertMax, jobs - from);
    const batch = Array.from({ length }, (_, index) => ({ data: { order: `order-${from + index}` } }));
    await boss.insert("ship", batch);
  }
  await run(place, "VACUUM ANALYZE");

  const meter = drainMeter(jobs);
  meter.start();
  const drain = async (): Promise<void> => {
    while (!meter.isDrained()) {
      const claimedAt = performance.now();
      const batch = await boss.fetch("ship", { batchSize });
      // Another loop has the last ones.
      if (batch.length === 0) return;
      await boss.complete(
        "ship",
        batch.map(({ id }) => id),
      );
      meter.done(batch.length, claimedAt);
    }
  };
  await Promise.all(Array.from({ length: loops }, drain));
  await boss.stop({ graceful: false });
  meter.print();
}
