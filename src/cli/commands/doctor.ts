import type { Command } from "commander";
import { failure, type Finding } from "../../domain/finding.ts";
import { baseCommand, type SharedOptions } from "../base-command.ts";
import { errorCodeOf, exitCodes } from "../exit-codes.ts";
import { loadApp } from "../load-app.ts";
import { printRows } from "../output.ts";
import { rowsText } from "../report.ts";

export function doctorCommand(): Command {
  return baseCommand({
    name: "doctor",
    summary: "Look at configuration, secrets, database, disk, clock and limits, and say what mends what is wrong",
    details:
      "Changes nothing but one row that shows that a commit succeeds. Run it in the environment of the process that " +
      "it is about. It ends with 2 or 3 where something fails; a warning alone ends with 0. With --json, one object " +
      "on each line.",
    examples: ["doctor", "doctor --json"],
  }).action(async (options: SharedOptions) => {
    const findings = await examined(options);
    const failed = findings.filter(({ level }) => level === "failure");
    printRows(options, findings, () => rowsText(["level", "subject", "says", "mend"], findings.map(recordOf)));
    if (failed.length === 0) return;
    const ofStore = failed.every(({ subject }) => !configured.includes(subject));
    process.exitCode = (ofStore ? exitCodes.store : exitCodes.usage).code;
  });
}

/** What is mended in the configuration or its environment. */
const configured: readonly string[] = ["configuration", "secrets"];

async function examined({ config }: SharedOptions): Promise<readonly Finding[]> {
  try {
    const app = await loadApp(config);
    try {
      return await app.doctor();
    } finally {
      await app.stop();
    }
  } catch (error) {
    if (!(error instanceof Error) || errorCodeOf(error) !== "CONFIG_INVALID") throw error;
    return [failure("configuration", error.message, "mend it where the message says, and look again")];
  }
}

function recordOf({ level, subject, says, mend }: Finding) {
  return { level, subject, says, mend };
}
