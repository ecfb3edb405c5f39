/**
 * The load generator, a process of its own, so that its work is not counted as the server's.
 * It signs its requests, warms the server up, measures one window, prints one line of JSON and ends.
 * A single answer that is not 2xx, in the warm-up too, fails the round: a fast refusal is no rate.
 */
import { setTimeout } from "node:timers/promises";
import { parseArgs } from "node:util";
import { closedLoop } from "./kit/closed-loop.ts";
import { machineCpuSeconds, processCpuSeconds } from "./kit/cpu.ts";
import { ordersCount } from "./kit/shop.ts";
import { percentile } from "./kit/statistics.ts";
import { stripeRequests } from "./kit/stripe-requests.ts";

export interface LoadResult {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** CPU seconds within the window; the server's only where the system tells them. */
  readonly cpu: { readonly server?: number; readonly load: number; readonly machine: number };
}

const { values } = parseArgs({
  options: {
    port: { type: "string" },
    /** The server's process, for its CPU time. */
    pid: { type: "string" },
    connections: { type: "string", default: "64" },
    "warm-up-ms": { type: "string", default: "1500" },
    "window-ms": { type: "string", default: "4000" },
  },
});
const secret = process.env["STRIPE_SECRET"];
if (values.port === undefined || values.pid === undefined || secret === undefined) {
  throw new TypeError("Cannot start the load: --port, --pid and STRIPE_SECRET are needed");
}
const pid = Number(values.pid);
const windowMs = Number(values["window-ms"]);

const requests = stripeRequests({ count: ordersCount, secret });
const latencies = new Float64Array(requests.count);
let answered = 0;
let refused = 0;
let sent = 0;
const windowStart = performance.now() + Number(values["warm-up-ms"]);
const windowEnd = windowStart + windowMs;
const cpuAtStart = delayUntil(windowStart).then(cpuSeconds);
const cpuAtEnd = delayUntil(windowEnd).then(cpuSeconds);

await closedLoop({
  port: Number(values.port),
  connections: Number(values.connections),
  next() {
    if (performance.now() >= windowEnd) return undefined;
    if (sent === requests.count) {
      throw new RangeError(
        `Cannot finish the round: all ${requests.count} prepared requests were sent before its end; shorten the window`,
      );
    }
    const index = sent++;
    return { index, bytes: requests.bytes(index) };
  },
  onAnswer({ status, startedAt, endedAt }) {
    if (status < 200 || status > 299) refused += 1;
    if (endedAt < windowStart || endedAt >= windowEnd) return;
    latencies[answered] = endedAt - startedAt;
    answered += 1;
  },
});

if (refused > 0) {
  throw new Error(`Cannot count the round: ${refused} of ${sent} answers were not 2xx`);
}
const [start, end] = await Promise.all([cpuAtStart, cpuAtEnd]);
const sorted = latencies.subarray(0, answered).toSorted();
const result: LoadResult = {
  perSecond: answered / (windowMs / 1000),
  p50Ms: percentile(sorted, 0.5),
  p99Ms: percentile(sorted, 0.99),
  maxMs: percentile(sorted, 1),
  cpu: {
    ...(start.server !== undefined && end.server !== undefined && { server: end.server - start.server }),
    load: end.load - start.load,
    machine: end.machine - start.machine,
  },
};
process.stdout.write(`${JSON.stringify(result)}\n`);

function delayUntil(time: number): Promise<void> {
  return setTimeout(time - performance.now());
}

function cpuSeconds(): { server: number | undefined; load: number; machine: number } {
  const { user, system } = process.cpuUsage();
  return {
    server: processCpuSeconds(pid),
    load: (user + system) / 1_000_000,
    machine: machineCpuSeconds(),
  };
}
