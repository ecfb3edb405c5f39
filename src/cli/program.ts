import { readFileSync } from "node:fs";
import { Command, Help, type Option } from "commander";
import { amendCommand } from "./commands/amend.ts";
import { applyCommand } from "./commands/apply.ts";
import { bulkCommand } from "./commands/bulk.ts";
import { cancelCommand } from "./commands/cancel.ts";
import { copyCommand } from "./commands/copy.ts";
import { doctorCommand } from "./commands/doctor.ts";
import { doneCommand } from "./commands/done.ts";
import { listCommand } from "./commands/list.ts";
import { lookupCommand } from "./commands/lookup.ts";
import { migrateCommand } from "./commands/migrate.ts";
import { pauseCommand } from "./commands/pause.ts";
import { providerCommand } from "./commands/provider.ts";
import { providersCommand } from "./commands/providers.ts";
import { pruneCommand } from "./commands/prune.ts";
import { refreshCommand } from "./commands/refresh.ts";
import { renewKeyCommand } from "./commands/renew-key.ts";
import { reprocessCommand } from "./commands/reprocess.ts";
import { resolveCommand } from "./commands/resolve.ts";
import { restoredCommand } from "./commands/restored.ts";
import { resumeCommand } from "./commands/resume.ts";
import { retryCommand } from "./commands/retry.ts";
import { sendCommand } from "./commands/send.ts";
import { serveCommand } from "./commands/serve.ts";
import { showCommand } from "./commands/show.ts";
import { statusCommand } from "./commands/status.ts";
import { exitCodes } from "./exit-codes.ts";

/** Commands by what they are for, in the order in which help shows them. */
const groups: Readonly<Record<string, readonly (() => Command)[]>> = {
  "Run:": [serveCommand, migrateCommand, pruneCommand, sendCommand, copyCommand, restoredCommand],
  "Look:": [doctorCommand, statusCommand, listCommand, showCommand],
  "Senders:": [providersCommand, providerCommand],
  "Act on an obligation:": [retryCommand, lookupCommand, doneCommand, cancelCommand, renewKeyCommand, amendCommand],
  "Act on more:": [bulkCommand, pauseCommand, resumeCommand],
  "Act on an event:": [applyCommand, resolveCommand, reprocessCommand],
  "Act on a resource:": [refreshCommand],
};

/** The whole command line, not yet run. */
export function program(): Command {
  const root = new Command("counterfoil")
    .description("Receives webhooks and carries out what they oblige you to do: each event once, each effect once.")
    .version(packageVersion())
    .helpCommand(false)
    .exitOverride()
    .configureHelp({ optionDescription: describedOption })
    .addHelpText(
      "after",
      `\nExit codes:\n${exitCodeLines()}\n\nEvery command has --json and its own --help with examples.`,
    );
  for (const [group, commands] of Object.entries(groups)) {
    for (const make of commands) root.addCommand(make().copyInheritedSettings(root).helpGroup(group));
  }
  return root;
}

function describedOption(option: Option): string {
  const text = new Help().optionDescription(option);
  return option.mandatory ? `${text} (required)` : text;
}

function exitCodeLines(): string {
  return Object.values(exitCodes)
    .map(({ code, meaning }) => `  ${code}  ${meaning}`)
    .join("\n");
}

function packageVersion(): string {
  const manifest = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(manifest) as { readonly version: string }).version;
}
