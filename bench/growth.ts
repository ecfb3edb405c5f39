/**
 * Whether claims stay as fast as they were on an empty database: with a long history of finished work
 * in the tables, and while somebody holds a snapshot, so that no dead row can be removed.
 *
 * Each contender is `claims.ts` on a database of its own: `empty`, `history`, `pinned`.
 */
import { startChild } from "./kit/child.ts";
import type { DrainResult } from "./kit/drain-meter.ts";
import { type Place, places } from "./kit/place.ts";
import {
  type BenchReport,
  type BenchResult,
  interleaved,
  medianResult,
  type RoundsOptions,
  table,
} from "./kit/report.ts";
import { rounded } from "./kit/statistics.ts";

export interface GrowthOptions extends RoundsOptions {
  readonly seconds: number;
  /** Obligations of the history, all finished. */
  readonly history: number;
}

export const growthContenders: readonly string[] = ["empty", "history", "pinned"];

const warmUpMs = 2_000;
const graceMs = 120_000;
/** A history is written once; ten million of them take their time on a slow disk. */
const fillMsPerThousand = 1_000;

/** Runs all rounds. The text is for people, the report for programs. */
export async function growth(options: GrowthOptions): Promise<{ readonly report: BenchReport; readonly text: string }> {
  await using stack = new AsyncDisposableStack();
  const made = stack.use(await places("postgres"));
  let filled: Place | undefined;
  const run = async (name: string): Promise<BenchResult> => {
    if (name === "history") return runOnce(name, (filled ??= stack.use(await made.make())), options);
    await using place = await made.make();
    return await runOnce(name, place, options);
  };
  const all = await interleaved({ ...options, run });
  const results = all.map(medianResult);
  const ratios = {
    historyOverEmpty: timesSlower(results, "history"),
    pinnedOverEmpty: timesSlower(results, "pinned"),
  };
  const header = [
    `claims, history of ${options.history}`,
    "claimed per s",
    "p50 ms",
    "p99 ms",
    "lowest p99",
    "highest p99",
  ];
  const rows = all.map((contender) => {
    const { name, perSecond, p50Ms, p99Ms } = medianResult(contender);
    const tails = contender.runs.map((each) => each.p99Ms);
    const times = [p50Ms, p99Ms, Math.min(...tails), Math.max(...tails)];
    return [name, perSecond.toFixed(0), ...times.map((value) => value.toFixed(2))];
  });
  return { report: { bench: "growth", store: "postgres", results, ratios }, text: table([header, ...rows]) };
}

async function runOnce(name: string, place: Place, { seconds, history }: GrowthOptions): Promise<BenchResult> {
  const windowMs = seconds * 1000;
  const args = [`--warm-up-ms=${warmUpMs}`, `--window-ms=${windowMs}`];
  if (name === "history") args.push(`--history=${history}`);
  if (name === "pinned") args.push("--pinned");
  const claims = startChild("claims.ts", { args: [place.where, ...args] });
  try {
    await claims.line(/^ready$/, { timeoutMs: graceMs + (history / 1000) * fillMsPerThousand });
    const [line] = await claims.line(/^\{.*\}$/, { timeoutMs: warmUpMs + windowMs + graceMs });
    return { name, ...(JSON.parse(line) as DrainResult) };
  } finally {
    await claims.end();
  }
}

/** By the p99 of a claim, as the report shows it. */
function timesSlower(results: readonly BenchResult[], name: string): number | null {
  const [own, empty] = [name, "empty"].map((each) => results.find((result) => result.name === each));
  return own && empty ? rounded(own.p99Ms / empty.p99Ms, 3) : null;
}
