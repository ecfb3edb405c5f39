import { userInfo } from "node:os";
import { Command, InvalidArgumentError } from "commander";
import type { App } from "../app/app.ts";
import { CounterfoilError } from "../domain/errors.ts";
import type { Operator } from "../operator/operator.ts";
import { exitCodes } from "./exit-codes.ts";
import { loadApp } from "./load-app.ts";

/** What every command says of itself. */
export interface CommandText {
  readonly name: string;
  /** One line, without a full stop. */
  readonly summary: string;
  /** More, where a line is not enough. */
  readonly details?: string;
  /** Whole command lines, without the program's name. */
  readonly examples: readonly string[];
}

/** Options of every command. */
export interface SharedOptions {
  readonly config?: string;
  readonly json?: boolean;
}

/** Options of every command that acts. */
export interface ActingOptions extends SharedOptions {
  readonly who: string;
  readonly why?: string;
}

/** A command with the options and the help that all have; one that needs no configuration takes none. */
export function baseCommand(
  { name, summary, details, examples }: CommandText,
  { config = true }: { readonly config?: boolean } = {},
): Command {
  const lines = examples.map((example) => `  $ counterfoil ${example}`).join("\n");
  const command = new Command(name)
    .summary(summary)
    .description(details === undefined ? `${summary}.` : `${summary}. ${details}`);
  if (config) {
    command.option(
      "-c, --config <file>",
      "configuration file (default: counterfoil.config.ts, .mts, .js or .mjs in this folder)",
    );
  }
  return command
    .option("--json", "print JSON instead of text")
    .addHelpText("after", `\nExamples:\n${lines}\n\nExit codes: ${exitCodeText}; see counterfoil --help.`);
}

const exitCodeText = Object.entries(exitCodes)
  .map(([name, { code }]) => `${code} ${name}`)
  .join(", ");

/** Adds the options of a command that acts: in whose name, and why, unless it asks for that in words of its own. */
export function acting(command: Command, { why = true }: { readonly why?: boolean } = {}): Command {
  command.option("--who <name>", "whose name the audit carries (default: $COUNTERFOIL_WHO, else your login)");
  return why ? command.option("--why <text>", "why, for the audit") : command;
}

/** Loads the configuration, opens the store where there is one, and closes it again whatever happens. */
export async function withApp<T>({ config }: SharedOptions, use: (app: App) => Promise<T>): Promise<T> {
  const app = await loadApp(config);
  const missing = app.runtime.store.missing?.();
  if (missing !== undefined) {
    const mend = "mend the path in the configuration, or create it by counterfoil serve or counterfoil migrate";
    throw new CounterfoilError("STORE_UNAVAILABLE", `Cannot open the store: ${missing}; ${mend}`);
  }
  try {
    await app.open();
    return await use(app);
  } finally {
    await app.stop();
  }
}

/** As {@link withApp}, acting or looking in the operator's name. */
export function withOperator<T>(
  options: SharedOptions & Partial<ActingOptions>,
  use: (operator: Operator) => Promise<T>,
): Promise<T> {
  return withApp(options, (app) => use(app.operator({ who: whoOf(options) })));
}

/** In whose name a command acts. */
export function whoOf({ who }: Partial<ActingOptions>): string {
  return who ?? process.env["COUNTERFOIL_WHO"] ?? login();
}

function login(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run under a number that has no name.
    return `user ${process.getuid?.() ?? "unknown"}`;
  }
}

/** Reads a whole number from 0 of an option or argument. */
export function wholeNumber(text: string): number {
  const number = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(number)) {
    throw new InvalidArgumentError("It must be a whole number.");
  }
  return number;
}
