import { type Command, Option } from "commander";
import {
  type CopyOptions,
  type CopyPlan,
  type CopyReport,
  copyStore,
  placeOf,
  planCopy,
} from "../../copy/copy-store.ts";
import { CopyTarget } from "../../store/postgres/copy-target.ts";
import { CopySource } from "../../store/sqlite/copy-source.ts";
import { type ActingOptions, acting, baseCommand, whoOf } from "../base-command.ts";
import { printResult } from "../output.ts";
import { recordText } from "../table.ts";

interface CopyCommandOptions extends ActingOptions {
  readonly from: string;
  readonly to?: string;
  readonly schema: string;
  readonly final?: boolean;
  readonly dryRun?: boolean;
  readonly abandon?: boolean;
}

/** How often a long copy says how far it is. */
const toldEveryMs = 5_000;

export function copyCommand(): Command {
  const command: Command = acting(
    baseCommand(
      {
        name: "copy",
        summary: "Move a store from a SQLite file to PostgreSQL while it is used, counted and compared",
        details:
          "Without --final everything is copied and compared while receivers and workers go on; run it as often as you like. " +
          "With --final it copies the rest while nobody can write, closes the file for good and opens the copy. " +
          "It may be stopped at any point and run again. Your own tables are yours to move: before --final, with what uses the file stopped.",
        examples: [
          "copy --from shop.db --to postgres://shop@db.example/shop --dry-run",
          "copy --from shop.db",
          "copy --from shop.db --final --why 'a second machine'",
        ],
      },
      { config: false },
    ),
  )
    .requiredOption("--from <path>", "the file that the store is in")
    .option(
      "--to <url>",
      "the database to copy to (default: $DATABASE_URL); what it leaves out comes from PGPASSWORD and the like",
    )
    .option("--schema <name>", "the schema to copy into", "counterfoil")
    .option("--final", "end the copy: close the file and open the schema")
    .addOption(new Option("--dry-run", "count what would be copied, and change nothing").conflicts("final"))
    .addOption(new Option("--abandon", "give up a copy that is not ended").conflicts(["final", "dryRun"]));
  return command.action(async (options: CopyCommandOptions) => {
    if (options.abandon) return abandon(options);
    const { to = process.env["DATABASE_URL"] } = options;
    if (!to) command.error("error: there is no --to, and no DATABASE_URL; name the database to copy to");
    await copy(options, to);
  });
}

async function copy(options: CopyCommandOptions, to: string): Promise<void> {
  const source = new CopySource(options.from);
  const settings = { connectionString: to, application_name: "counterfoil copy" };
  const target = new CopyTarget({ settings, schema: options.schema });
  try {
    const place = await placeOf(target, hostOf(to));
    const sides = { source, target, from: source.path, to: place };
    if (options.dryRun) {
      const plan = await planCopy(sides);
      printResult(options, { dryRun: true, from: sides.from, to: place, ...plan }, () => planText(plan, place));
    } else {
      const report = await copyStore({ ...sides, ...actOf(options) });
      printResult(options, { from: sides.from, to: place, ...report }, () => reportText(report, place));
    }
  } finally {
    source.close();
    await target.close();
  }
}

function actOf(options: CopyCommandOptions): Pick<CopyOptions, "final" | "who" | "why" | "onProgress"> {
  let toldAtMs = performance.now();
  return {
    final: options.final ?? false,
    who: whoOf(options),
    why: options.why,
    onProgress: (step, kind, units) => {
      if (options.json || performance.now() - toldAtMs < toldEveryMs) return;
      toldAtMs = performance.now();
      console.error(`${step} ${units} ${kind}`);
    },
  };
}

async function abandon(options: CopyCommandOptions): Promise<void> {
  const source = new CopySource(options.from);
  try {
    const abandoned = await source.abandon();
    printResult(options, { from: source.path, abandoned }, () =>
      abandoned
        ? "Given up: the file notes changes no more. What was copied stays closed; drop its schema."
        : "Nothing to do. No copy of this file was begun.",
    );
  } finally {
    source.close();
  }
}

/** The host of a URL, which may leave it to the environment; nothing else of it is shown anywhere. */
function hostOf(url: string): string {
  return [URL.parse(url)?.host, process.env["PGHOST"]].find((name) => name) ?? "this machine";
}

function planText({ rows, begun }: CopyPlan, place: string): string {
  return `${begun ? "Would go on with the copy" : "Would copy"} to ${place}:\n${recordText(rows)}`;
}

function reportText({ moved, rows, changed, closedMs }: CopyReport, place: string): string {
  const text = moved
    ? `Moved to ${place}${closedMs === null ? "" : `; nobody could write for ${closedMs} ms`}. Point the configuration there.`
    : `Copied to ${place} and compared; the file goes on, and ${changed} of its things changed meanwhile. ` +
      "To move the store, stop what uses it and run the same with --final.";
  return `${text}\n${recordText(rows)}`;
}
