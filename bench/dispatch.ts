/**
 * How many owed jobs a second a worker carries out when the work itself costs nothing, so that
 * only claiming, recording and settling remain.
 *
 * A contender is a script: `node queues/<name>.ts <data folder> <jobs>`. It stores the jobs, prints
 * `ready`, drains them, prints one line of JSON with perSecond, p50Ms and p99Ms, and ends.
 */
import { startChild } from "./kit/child.ts";
import { dataFolder } from "./kit/data-folder.ts";
import type { DrainResult } from "./kit/drain-meter.ts";
import {
  interleaved,
  medianResult,
  ratio,
  table,
  type BenchReport,
  type BenchResult,
  type ContenderRuns,
  type RoundsOptions,
} from "./kit/report.ts";

export interface DispatchOptions extends RoundsOptions {
  readonly jobs: number;
}

export const dispatchContenders: readonly string[] = ["counterfoil", "plainjob"];

const preloadTimeoutMs = 120_000;
const drainTimeoutMs = 300_000;

/** Runs all rounds. The text is for people, the report for programs. */
export async function dispatch(
  options: DispatchOptions,
): Promise<{ readonly report: BenchReport; readonly text: string }> {
  const all = await interleaved({ ...options, run: (name) => runOnce(name, options.jobs) });
  const results = all.map(medianResult);
  const ratios = { overPlainjob: ratio(results, "counterfoil", "plainjob") };
  const header = ["dispatch, no-op work", "per s", "lowest", "highest", "p50 ms", "p99 ms"];
  const text = table([header, ...all.map(dispatchRow)]);
  return { report: { bench: "dispatch", results, ratios }, text };
}

async function runOnce(name: string, jobs: number): Promise<BenchResult> {
  using folder = dataFolder();
  const queue = startChild(`queues/${name}.ts`, { args: [folder.path, String(jobs)] });
  try {
    await queue.line(/^ready$/, { timeoutMs: preloadTimeoutMs });
    const [line] = await queue.line(/^\{.*\}$/, { timeoutMs: drainTimeoutMs });
    return { name, ...(JSON.parse(line) as DrainResult) };
  } finally {
    await queue.end();
  }
}

function dispatchRow(contender: ContenderRuns<BenchResult>): readonly string[] {
  const { name, perSecond, p50Ms, p99Ms } = medianResult(contender);
  const rates = contender.runs.map((run) => run.perSecond);
  const counts = [perSecond, Math.min(...rates), Math.max(...rates)];
  return [name, ...counts.map((value) => value.toFixed(0)), ...[p50Ms, p99Ms].map((value) => value.toFixed(3))];
}
