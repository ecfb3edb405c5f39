import { percentile } from "./statistics.ts";

/**
 * The clock of a queue's process. The first half of the jobs is warm-up; the rate counts the rest,
 * from the end of the warm-up to the durable end of the last job.
 */
export interface DrainMeter {
  /** All jobs are stored: tells the parent and starts the clock of the first job. */
  start(): void;
  /** So many jobs have just ended; their time is since `since`, or since the end of the last ones. */
  done(count: number, since?: number): void;
  isDrained(): boolean;
  /** Prints the result as one line of JSON. */
  print(): void;
}

export interface DrainResult {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Measures the draining of so many jobs. */
export function drainMeter(jobs: number): DrainMeter {
  const warmUp = Math.floor(jobs / 2);
  const timesMs = new Float64Array(jobs);
  let ended = 0;
  let lastEnd = 0;
  let windowStart = Number.NaN;
  let counted = 0;
  return {
    start() {
      process.stdout.write("ready\n");
      lastEnd = performance.now();
    },
    done(count, since = lastEnd) {
      const now = performance.now();
      if (ended >= warmUp) {
        timesMs.fill(now - since, counted, counted + count);
        counted += count;
      }
      ended += count;
      lastEnd = now;
      if (Number.isNaN(windowStart) && ended >= warmUp) windowStart = now;
    },
    isDrained: () => ended >= jobs,
    print() {
      const sorted = timesMs.subarray(0, counted).toSorted();
      const result: DrainResult = {
        perSecond: counted / ((lastEnd - windowStart) / 1000),
        p50Ms: percentile(sorted, 0.5),
        p99Ms: percentile(sorted, 0.99),
      };
      process.stdout.write(`${JSON.stringify(result)}\n`);
    },
  };
}

/** What a queue's process is started with: `<place> <jobs>`. */
export function queueArguments(): { readonly place: string; readonly jobs: number } {
  const [place, jobs] = process.argv.slice(2);
  if (place === undefined || !(Number(jobs) > 0)) {
    throw new TypeError("Cannot start: give the data folder or the database's address, and the number of jobs");
  }
  return { place, jobs: Number(jobs) };
}
