import type { Command } from "commander";
import type { PruneCounts } from "../../operator/prune.ts";
import { type ActingOptions, acting, baseCommand, withOperator } from "../base-command.ts";
import { printResult } from "../output.ts";
import { recordText } from "../table.ts";

interface PruneOptions extends ActingOptions {
  readonly dryRun?: boolean;
}

export function pruneCommand(): Command {
  return acting(
    baseCommand({
      name: "prune",
      summary: "Remove what is old: payload bytes, and requests, answers and attempts of what is finished",
      details:
        "Running workers do the same by and by. Receipts, operation keys, fences, snapshots and the audit stay, and so does " +
        "everything that is still open. It goes in small transactions and may be stopped at any point.",
      examples: ["prune --dry-run", "prune --why 'before the archive'", "prune --dry-run --json"],
    }),
  )
    .option("--dry-run", "count what would go, and remove nothing")
    .action(async (options: PruneOptions) => {
      const { dryRun = false, why } = options;
      const counts = await withOperator(options, (operator) => operator.prune({ dryRun, why }));
      printResult(options, { dryRun, ...counts }, () => pruneText(counts, dryRun));
    });
}

function pruneText(counts: PruneCounts, dryRun: boolean): string {
  if (Object.values(counts).every((count) => count === 0)) return "Nothing is old.";
  return `${dryRun ? "Would go:" : "Removed:"}\n${recordText(counts)}`;
}
