import type { StoreKind } from "./place.ts";
import { quiet } from "./quiet.ts";
import { median, rounded } from "./statistics.ts";

/** One contender's figures: of one run, or the medians of all. */
export interface BenchResult {
  readonly name: string;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** The object that `--json` prints on the last line. */
export interface BenchReport {
  readonly bench: "accept" | "dispatch" | "growth";
  readonly store: StoreKind;
  readonly results: readonly BenchResult[];
  /** Quotients of the medians of `perSecond`; null where a side did not run. */
  readonly ratios: Readonly<Record<string, number | null>>;
}

/** What both benches are asked for. */
export interface RoundsOptions {
  readonly contenders: readonly string[];
  readonly rounds: number;
  /** How long a run may wait for the rest of the machine to be idle. */
  readonly waitSeconds: number;
  readonly onProgress: (line: string) => void;
}

/** A contender and what it reached in each round so far. */
export interface ContenderRuns<Run> {
  readonly name: string;
  readonly runs: Run[];
}

/**
 * Runs each contender once a round. They take turns at going first, so that a slow minute of the
 * machine hits all of them and none always follows the same other.
 */
export async function interleaved<Run extends BenchResult>(
  options: RoundsOptions & { readonly run: (name: string) => Promise<Run> },
): Promise<readonly ContenderRuns<Run>[]> {
  const all = options.contenders.map((name): ContenderRuns<Run> => ({ name, runs: [] }));
  for (let round = 0; round < options.rounds; round++) {
    const first = round % all.length;
    for (const { name, runs } of [...all.slice(first), ...all.slice(0, first)]) {
      await quiet(options.waitSeconds);
      const run = await options.run(name);
      runs.push(run);
      const rate = Math.round(run.perSecond);
      options.onProgress(`round ${round + 1} of ${options.rounds}: ${name} ${rate}/s`);
    }
  }
  return all;
}

/** The medians over one contender's runs, each figure by itself. */
export function medianResult({ name, runs }: ContenderRuns<BenchResult>): BenchResult {
  return {
    name,
    perSecond: rounded(median(runs.map((run) => run.perSecond)), 1),
    p50Ms: rounded(median(runs.map((run) => run.p50Ms)), 3),
    p99Ms: rounded(median(runs.map((run) => run.p99Ms)), 3),
  };
}

/** How many times faster one contender is than another, by the medians that the report shows. */
export function ratio(results: readonly BenchResult[], name: string, over: string): number | null {
  const own = results.find((result) => result.name === name);
  const other = results.find((result) => result.name === over);
  if (own === undefined || other === undefined) return null;
  return rounded(own.perSecond / other.perSecond, 3);
}

/** Aligns rows of text in columns: the first to the left, the others to the right. */
export function table(rows: readonly (readonly string[])[]): string {
  const width = (column: number): number => Math.max(...rows.map((row) => row[column]?.length ?? 0));
  const pad = (cell: string, column: number): string =>
    column === 0 ? cell.padEnd(width(column)) : cell.padStart(width(column));
  return rows.map((row) => row.map(pad).join("  ")).join("\n");
}
