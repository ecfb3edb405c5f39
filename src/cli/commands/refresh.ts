import type { Command } from "commander";
import { printActed } from "../act-command.ts";
import { type ActingOptions, acting, baseCommand, withOperator } from "../base-command.ts";

interface RefreshOptions extends ActingOptions {
  readonly connection: string;
  readonly account: string;
}

export function refreshCommand(): Command {
  return acting(
    baseCommand({
      name: "refresh",
      summary: "Ask for a resource's state at its source",
      details:
        "For a refresh that failed for good, or a state that you doubt. One is owed at most, however often you ask.",
      examples: ["refresh customer cus_1042 --connection shop --why 'the key was renewed'"],
    }),
  )
    .argument("<kind>", "its kind, as registered in resources")
    .argument("<id>", "its id")
    .requiredOption("--connection <connection>", "the connection that its state is kept for")
    .option("--account <account>", "the account inside the connection", "")
    .action(async (kind: string, id: string, options: RefreshOptions) => {
      const { connection, account } = options;
      const resource = { connection, account, kind, id };
      const acted = await withOperator(options, (operator) => operator.refresh({ ...resource, why: options.why }));
      printActed(options, { action: "refresh", ...resource }, acted);
    });
}
