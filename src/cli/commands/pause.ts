import type { Command } from "commander";
import { printActed } from "../act-command.ts";
import { type ActingOptions, acting, baseCommand, withOperator } from "../base-command.ts";

export function pauseCommand(): Command {
  return acting(
    baseCommand({
      name: "pause",
      summary: "Keep a destination from being called until it is resumed",
      details: "What is owed there waits. A call that runs ends as ever, and settled hooks go on.",
      examples: ["pause https://carrier.example --reason 'they asked us to stop until noon'"],
    }),
  )
    .argument("<destination>", "its origin, such as https://carrier.example")
    .requiredOption("--reason <text>", "why, for whoever wonders, and for the audit")
    .action(async (destination: string, options: ActingOptions & { readonly reason: string }) => {
      const { reason } = options;
      const acted = await withOperator(options, (operator) => operator.pause({ destination, reason }));
      printActed(options, { action: "pause", destination }, acted);
    });
}
