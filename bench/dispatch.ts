/**
 * How many owed jobs a second a worker carries out when the work itself costs nothing, so that
 * only claiming, recording and settling remain.
 *
 * A contender is a script: `node queues/<name>.ts <place> <jobs>`, where the place is a data folder
 * or the address of a database. It stores the jobs, prints `ready`, drains them, prints one line of
 * JSON with perSecond, p50Ms and p99Ms, and ends.
 */
import { startChild } from "./kit/child.ts";
import type { DrainResult } from "./kit/drain-meter.ts";
import { places, type Places, type StoreKind } from "./kit/place.ts";
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
  readonly store: StoreKind;
  readonly jobs: number;
}

/** The script of each contender. */
const scripts: Readonly<Record<StoreKind, Readonly<Record<string, string>>>> = {
  sqlite: { counterfoil: "queues/counterfoil.ts", plainjob: "queues/plainjob.ts" },
  postgres: {
    counterfoil: "queues/counterfoil.ts",
    "pg-boss": "queues/postgres/pg-boss.ts",
    "pg-boss-batched": "queues/postgres/pg-boss-batched.ts",
    "graphile-worker": "queues/postgres/graphile-worker.ts",
    "graphile-worker-batched": "queues/postgres/graphile-worker-batched.ts",
  },
};

/** Without batches they would take minutes, and end no faster for it: these drain a tenth of the jobs. */
const unbatched: readonly string[] = ["pg-boss", "graphile-worker"];

/** The contenders on a store. */
export function dispatchContenders(store: StoreKind): readonly string[] {
  return Object.keys(scripts[store]);
}

/** The script of one of them, beside this file. */
export function dispatchScript(store: StoreKind, name: string): string {
  return scripts[store][name] ?? name;
}

/** What a ratio is called, and whom it is over. */
const peers: Readonly<Record<StoreKind, Readonly<Record<string, string>>>> = {
  sqlite: { overPlainjob: "plainjob" },
  postgres: {
    overPgBoss: "pg-boss",
    overPgBossBatched: "pg-boss-batched",
    overGraphileWorker: "graphile-worker",
    overGraphileWorkerBatched: "graphile-worker-batched",
  },
};

const preloadTimeoutMs = 120_000;
const drainTimeoutMs = 300_000;

/** Runs all rounds. The text is for people, the report for programs. */
export async function dispatch(
  options: DispatchOptions,
): Promise<{ readonly report: BenchReport; readonly text: string }> {
  const { store } = options;
  await using made = await places(store);
  const all = await interleaved({ ...options, run: (name) => runOnce(name, made, options) });
  const results = all.map(medianResult);
  const ratios = Object.fromEntries(
    Object.entries(peers[store]).map(([name, peer]) => [name, ratio(results, "counterfoil", peer)]),
  );
  const header = ["dispatch, no-op work", "per s", "lowest", "highest", "p50 ms", "p99 ms"];
  const text = table([header, ...all.map(dispatchRow)]);
  return { report: { bench: "dispatch", store, results, ratios }, text };
}

async function runOnce(name: string, made: Places, { store, jobs }: DispatchOptions): Promise<BenchResult> {
  await using place = await made.make();
  const count = unbatched.includes(name) ? Math.ceil(jobs / 10) : jobs;
  const queue = startChild(dispatchScript(store, name), { args: [place.where, String(count)] });
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
