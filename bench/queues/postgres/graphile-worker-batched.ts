/**
 * graphile-worker in batches, by the settings that its page on performance gives for its own figures:
 * jobs are fetched 500 at a time and their ends are written together.
 */
import { drainByGraphile } from "../../kit/drain-by-graphile.ts";

await drainByGraphile({
  concurrentJobs: 24,
  maxPoolSize: 25,
  localQueue: { size: 500 },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
});
