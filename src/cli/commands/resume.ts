import type { Command } from "commander";
import { printActed } from "../act-command.ts";
import { acting, baseCommand, withOperator } from "../base-command.ts";
import { pausable, type PausableOptions } from "./pause.ts";

export function resumeCommand(): Command {
  return acting(
    baseCommand({
      name: "resume",
      summary: "Let a paused destination be called again, or a paused connection's events be applied again",
      details: "A destination is paused when it refuses our credentials, a connection only by you.",
      examples: ["resume https://carrier.example --why 'the token was renewed'", "resume --connection stripe"],
    }),
  )
    .argument("[destination]", "its origin, as counterfoil status shows it")
    .option("--connection <id>", "a connection, instead of a destination")
    .action(async (destination: string | undefined, options: PausableOptions, command: Command) => {
      const target = pausable(destination, options, command);
      const acted = await withOperator(options, (operator) => operator.resume({ ...target, why: options.why }));
      printActed(options, { action: "resume", ...target }, acted);
    });
}
