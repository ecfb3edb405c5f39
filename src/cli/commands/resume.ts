import type { Command } from "commander";
import { printActed } from "../act-command.ts";
import { type ActingOptions, acting, baseCommand, withOperator } from "../base-command.ts";

export function resumeCommand(): Command {
  return acting(
    baseCommand({
      name: "resume",
      summary: "Let a paused destination be called again",
      details: "A destination is paused when it refuses our credentials.",
      examples: ["resume https://carrier.example --why 'the token was renewed'"],
    }),
  )
    .argument("<destination>", "its origin, as counterfoil status shows it")
    .action(async (destination: string, options: ActingOptions) => {
      const acted = await withOperator(options, (operator) => operator.resume({ destination, why: options.why }));
      printActed(options, { action: "resume", destination }, acted);
    });
}
