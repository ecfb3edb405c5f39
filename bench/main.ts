/**
 * `node bench/main.ts <accept|dispatch|growth|verify> [--store sqlite|postgres] [--json] [--rounds N] [--seconds S]`
 *
 * Progress goes to standard error; the table, or with `--json` one object, to standard output.
 */
import { parseArgs } from "node:util";
import { accept, acceptContenders } from "./accept.ts";
import { dispatch, dispatchContenders } from "./dispatch.ts";
import { growth, growthContenders } from "./growth.ts";
import { machineLine } from "./kit/machine.ts";
import { storeKinds, type StoreKind } from "./kit/place.ts";
import type { BenchReport } from "./kit/report.ts";
import { verifyCosts } from "./verify.ts";

const usage = `Usage: node bench/main.ts <accept|dispatch|growth|verify> [options]

  --store S        sqlite or postgres (default sqlite); growth is on postgres only
  --rounds N       runs of each contender, interleaved; medians are shown (default 5, growth 3)
  --seconds S      length of a measured run (default 4, growth 10); dispatch drains 25,000 jobs for each second
  --history N      finished obligations in the tables, growth only (default 200000)
  --connections N  clients at the same time, accept only (default 64)
  --only a,b       some of the contenders
  --wait S         wait before each run, at most so long, for the machine to be idle (default 0)
  --json           one JSON object as the last line instead of the table
`;

const dispatchJobsPerSecond = 25_000;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    store: { type: "string", default: "sqlite" },
    rounds: { type: "string" },
    seconds: { type: "string" },
    history: { type: "string", default: "200000" },
    connections: { type: "string", default: "64" },
    wait: { type: "string", default: "0" },
    only: { type: "string" },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
const [bench] = positionals;
const isKnown = bench === "verify" || bench === "accept" || bench === "dispatch" || bench === "growth";
if (values.help || !isKnown) {
  process.stdout.write(usage);
  process.exit(values.help ? 0 : 2);
}

if (bench === "verify") {
  const costs = await verifyCosts({ rounds: whole("rounds", 3), seconds: positive("seconds", 0.3) });
  const lines = costs.map(({ preset, ours, theirs }) => `${preset.padEnd(28)} ${ours} µs, theirs ${theirs ?? "-"}`);
  process.stdout.write(values.json ? `${JSON.stringify({ bench, costs })}\n` : `${lines.join("\n")}\n`);
  process.exit(0);
}

const onProgress = (line: string): void => void process.stderr.write(`${line}\n`);
const store = storeKind(values.store);
const seconds = positive("seconds", bench === "growth" ? 10 : 4);
const rounds = {
  rounds: whole("rounds", bench === "growth" ? 3 : 5),
  waitSeconds: Number(values.wait),
  onProgress,
};
const { report, text } = await measure(bench);
const ratios = Object.entries(report.ratios).map(([name, value]) => `${name} ${value ?? "-"}`);
process.stdout.write(values.json ? `${JSON.stringify(report)}\n` : `${text}\n${ratios.join(", ")}\n`);

function measure(name: BenchReport["bench"]): ReturnType<typeof accept> {
  onProgress(machineLine());
  if (name === "accept") {
    const connections = whole("connections");
    return accept({ ...rounds, store, seconds, connections, contenders: chosen(acceptContenders(store)) });
  }
  if (name === "dispatch") {
    const jobs = Math.ceil(seconds * dispatchJobsPerSecond);
    return dispatch({ ...rounds, store, jobs, contenders: chosen(dispatchContenders(store)) });
  }
  return growth({ ...rounds, seconds, history: whole("history"), contenders: chosen(growthContenders) });
}

function whole(name: "rounds" | "connections" | "history", otherwise?: number): number {
  const value = positive(name, otherwise);
  if (Number.isInteger(value)) return value;
  throw new RangeError(`Cannot run: --${name} is "${values[name]}", give a whole number`);
}

function positive(name: "rounds" | "seconds" | "connections" | "history", otherwise?: number): number {
  const value = Number(values[name] ?? otherwise);
  if (value > 0) return value;
  throw new RangeError(`Cannot run: --${name} is "${values[name]}", give a number above zero`);
}

function storeKind(name: string): StoreKind {
  const kind = storeKinds.find((each) => each === name);
  if (kind !== undefined) return kind;
  throw new RangeError(`Cannot run on "${name}": the stores are ${storeKinds.join(" and ")}`);
}

function chosen(contenders: readonly string[]): readonly string[] {
  const names = values.only?.split(",") ?? contenders;
  const unknown = names.find((name) => !contenders.includes(name));
  if (unknown === undefined) return names;
  throw new RangeError(`Cannot run "${unknown}": the contenders are ${contenders.join(", ")}`);
}
