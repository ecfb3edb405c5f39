/**
 * `node bench/main.ts <accept|dispatch> [--store sqlite|postgres] [--json] [--rounds N] [--seconds S]`
 *
 * Progress goes to standard error; the table, or with `--json` one object, to standard output.
 */
import { parseArgs } from "node:util";
import { accept, acceptContenders } from "./accept.ts";
import { dispatch, dispatchContenders } from "./dispatch.ts";
import { machineLine } from "./kit/machine.ts";
import { storeKinds, type StoreKind } from "./kit/place.ts";

const usage = `Usage: node bench/main.ts <accept|dispatch> [options]

  --store S        sqlite or postgres (default sqlite)
  --rounds N       runs of each contender, interleaved; medians are shown (default 5)
  --seconds S      length of a measured run (default 4); dispatch drains 5,000 jobs for each second
  --connections N  clients at the same time, accept only (default 64)
  --only a,b       some of the contenders
  --wait S         wait before each run, at most so long, for the machine to be idle (default 0)
  --json           one JSON object as the last line instead of the table
`;

const dispatchJobsPerSecond = 5_000;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    store: { type: "string", default: "sqlite" },
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "4" },
    connections: { type: "string", default: "64" },
    wait: { type: "string", default: "0" },
    only: { type: "string" },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
const [bench] = positionals;
if (values.help || (bench !== "accept" && bench !== "dispatch")) {
  process.stdout.write(usage);
  process.exit(values.help ? 0 : 2);
}

const onProgress = (line: string): void => void process.stderr.write(`${line}\n`);
const seconds = positive("seconds");
const store = storeKind(values.store);
onProgress(machineLine());
const rounds = { rounds: positive("rounds"), waitSeconds: Number(values.wait), onProgress };
const { report, text } =
  bench === "accept"
    ? await accept({
        ...rounds,
        store,
        seconds,
        connections: positive("connections"),
        contenders: chosen(acceptContenders(store)),
      })
    : await dispatch({
        ...rounds,
        store,
        jobs: Math.ceil(seconds * dispatchJobsPerSecond),
        contenders: chosen(dispatchContenders(store)),
      });
const ratios = Object.entries(report.ratios).map(([name, value]) => `${name} ${value ?? "-"}`);
process.stdout.write(values.json ? `${JSON.stringify(report)}\n` : `${text}\n${ratios.join(", ")}\n`);

function positive(name: "rounds" | "seconds" | "connections"): number {
  const value = Number(values[name]);
  if (value > 0 && (name === "seconds" || Number.isInteger(value))) return value;
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
