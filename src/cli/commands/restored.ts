import type { Command } from "commander";
import type { Instant } from "../../domain/instant.ts";
import { type ActingOptions, acting, baseCommand, withOperator } from "../base-command.ts";
import { printResult } from "../output.ts";
import { isoTime } from "../records.ts";
import { zonedTime } from "../zoned-time.ts";

interface RestoredOptions extends ActingOptions {
  readonly since: Instant;
  readonly yes?: boolean;
}

export function restoredCommand(): Command {
  return acting(
    baseCommand({
      name: "restored",
      summary: "Say that the database was put back to an earlier state, before the first worker starts",
      details:
        "What was not done at that time may have been sent since: it is sent again only when a lookup says that it is " +
        "absent, or you do. Counts, and changes nothing, without --yes.",
      examples: [
        "restored --since 2026-11-30T04:00:00Z",
        "restored --since 2026-11-30T04:00:00Z --yes --why 'the disk was lost; backup of 4 o'\\''clock'",
      ],
    }),
  )
    .requiredOption("--since <time>", "when the backup was made, rather too late than too early", zonedTime)
    .option("--yes", "do it, after a look at the count")
    .action(async (options: RestoredOptions) => {
      const { since, why, yes = false } = options;
      const { obligations } = await withOperator(options, (operator) =>
        operator.restored({ since, dryRun: !yes, why }),
      );
      printResult(options, { since: isoTime(since), dryRun: !yes, obligations }, () => restoredText(obligations, yes));
    });
}

function restoredText(obligations: number, yes: boolean): string {
  const many = obligations === 1 ? "1 obligation" : `${obligations} obligations`;
  if (yes) return `${many} marked: each may have been sent; a lookup or you decide. counterfoil list uncertain`;
  return `${many} may have been sent since. To mark them: the same with --yes`;
}
