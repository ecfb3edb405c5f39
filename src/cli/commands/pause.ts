import type { Command } from "commander";
import type { Pausable } from "../../operator/pausable.ts";
import { printActed } from "../act-command.ts";
import { type ActingOptions, acting, baseCommand, withOperator } from "../base-command.ts";

export interface PausableOptions extends ActingOptions {
  readonly connection?: string;
}

export function pauseCommand(): Command {
  return acting(
    baseCommand({
      name: "pause",
      summary: "Keep a destination from being called, or a connection's events from being applied, until it is resumed",
      details:
        "What is owed to a destination waits; a call that runs ends as ever, and settled hooks go on. " +
        "Events of a connection are verified, kept and answered 202 as ever, and applied once it is resumed.",
      examples: [
        "pause https://carrier.example --reason 'they asked us to stop until noon'",
        "pause --connection stripe --reason 'the mended handler goes out at noon'",
      ],
    }),
    { why: false },
  )
    .argument("[destination]", "its origin, such as https://carrier.example")
    .option("--connection <id>", "a connection, instead of a destination")
    .requiredOption("--reason <text>", "why, for whoever wonders, and for the audit")
    .action(
      async (
        destination: string | undefined,
        options: PausableOptions & { readonly reason: string },
        command: Command,
      ) => {
        const { reason } = options;
        const target = pausable(destination, options, command);
        const acted = await withOperator(options, (operator) => operator.pause({ ...target, reason }));
        printActed(options, { action: "pause", ...target }, acted);
      },
    );
}

/** What a command names: one destination, or one connection. */
export function pausable(destination: string | undefined, { connection }: PausableOptions, command: Command): Pausable {
  if (destination !== undefined && connection === undefined) return { destination };
  if (destination === undefined && connection !== undefined) return { connection };
  return command.error("error: name either a destination, or a connection with --connection");
}
