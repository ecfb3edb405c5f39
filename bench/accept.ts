/**
 * How many signed deliveries a second a receiver takes, over HTTP, each durable before its 200.
 *
 * A contender is a script: `node servers/<name>.ts <place>`, with STRIPE_SECRET in its environment.
 * The place is a data folder, or the address of a database. It prepares 160,000 orders there, listens
 * on a free loopback port, prints `listening <port>`, and ends when its standard input closes. Every
 * run has a fresh process and a fresh place.
 */
import { startChild } from "./kit/child.ts";
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
import { median } from "./kit/statistics.ts";
import type { LoadResult } from "./load.ts";

export interface AcceptOptions extends RoundsOptions {
  readonly store: StoreKind;
  readonly seconds: number;
  readonly connections: number;
}

const common = { "no-store": "servers/no-store.ts", "no-store-node-http": "servers/no-store-node-http.ts" };

/** The script of each contender. */
const scripts: Readonly<Record<StoreKind, Readonly<Record<string, string>>>> = {
  sqlite: { counterfoil: "servers/counterfoil.ts", "hand-written": "servers/hand-written.ts", ...common },
  postgres: {
    counterfoil: "servers/counterfoil.ts",
    "hand-written": "servers/postgres/hand-written.ts",
    "one-statement": "servers/postgres/one-statement.ts",
    "stripe-sync-engine": "servers/postgres/stripe-sync-engine.ts",
    ...common,
  },
};

/** The contenders on a store. */
export function acceptContenders(store: StoreKind): readonly string[] {
  return Object.keys(scripts[store]);
}

type Run = BenchResult & LoadResult;

const secret = "whsec_of_the_bench_only";
const warmUpMs = 8_000;
const startTimeoutMs = 60_000;
/** For signing before the warm-up and for the last answers after the window. */
const loadGraceMs = 60_000;

/** Runs all rounds. The text is for people, the report for programs. */
export async function accept(options: AcceptOptions): Promise<{ readonly report: BenchReport; readonly text: string }> {
  await using made = await places(options.store);
  const all = await interleaved({ ...options, run: (name) => runOnce(name, made, options) });
  const results = all.map(medianResult);
  const ratios = {
    overHandWritten: ratio(results, "counterfoil", "hand-written"),
    ...(options.store === "postgres" && { overOneStatement: ratio(results, "counterfoil", "one-statement") }),
    overNoStore: ratio(results, "counterfoil", "no-store"),
  };
  const rows = all.map((contender) => acceptRow(contender, options.seconds));
  return { report: { bench: "accept", store: options.store, results, ratios }, text: table([header, ...rows]) };
}

async function runOnce(name: string, made: Places, options: AcceptOptions): Promise<Run> {
  await using place = await made.make();
  const env = { STRIPE_SECRET: secret };
  const server = startChild(scripts[options.store][name] ?? name, { args: [place.where], env });
  try {
    const [, port] = await server.line(/^listening (\d+)$/, { timeoutMs: startTimeoutMs });
    const windowMs = options.seconds * 1000;
    const args = [
      `--port=${port}`,
      `--pid=${server.pid}`,
      `--connections=${options.connections}`,
      `--warm-up-ms=${warmUpMs}`,
      `--window-ms=${windowMs}`,
    ];
    const load = startChild("load.ts", { args, env });
    try {
      const [line] = await load.line(/^\{.*\}$/, { timeoutMs: warmUpMs + windowMs + loadGraceMs });
      return { name, ...(JSON.parse(line) as LoadResult) };
    } finally {
      await load.end();
    }
  } finally {
    await server.end();
  }
}

const header = [
  "accept, 1 KiB signed bodies",
  "per s",
  "lowest",
  "highest",
  "p50 ms",
  "p99 ms",
  "max ms",
  "CPU us/request",
  "server cores",
  "load cores",
  "other cores",
];

/** Medians of one contender; "other" is what the rest of the machine did meanwhile. */
function acceptRow({ name, runs }: ContenderRuns<Run>, seconds: number): readonly string[] {
  const middle = (figure: (run: Run) => number, digits: number): string => median(runs.map(figure)).toFixed(digits);
  const serverCpu = (run: Run): number => run.cpu.server ?? Number.NaN;
  const rates = runs.map((run) => run.perSecond);
  return [
    name,
    middle((run) => run.perSecond, 0),
    Math.min(...rates).toFixed(0),
    Math.max(...rates).toFixed(0),
    middle((run) => run.p50Ms, 1),
    middle((run) => run.p99Ms, 1),
    middle((run) => run.maxMs, 0),
    middle((run) => (serverCpu(run) * 1_000_000) / (run.perSecond * seconds), 0),
    middle((run) => serverCpu(run) / seconds, 2),
    middle((run) => run.cpu.load / seconds, 2),
    middle((run) => (run.cpu.machine - serverCpu(run) - run.cpu.load) / seconds, 2),
  ];
}
