import { CommanderError } from "commander";
import { errorSummary } from "../domain/error-summary.ts";
import { errorCodeOf, exitCodeOf, exitCodes, isMisuse } from "./exit-codes.ts";
import { inertLines, jsonLine } from "./inert-text.ts";
import { program } from "./program.ts";

/** How long a configuration's own timers and sockets may keep a finished command alive. */
const lingerMs = 1_000;

/** Runs one command line and sets the exit code; errors go to standard error, with `--json` as JSON. */
export async function run(args: readonly string[]): Promise<void> {
  try {
    await program().parseAsync(args, { from: "user" });
  } catch (error) {
    process.exitCode = exitCodeOf(error);
    // Commander has printed its own errors, and help, already.
    if (!(error instanceof CommanderError)) console.error(errorText(error, args.includes("--json")));
  }
  setTimeout(() => process.exit(), lingerMs).unref();
}

function errorText(error: unknown, json: boolean): string {
  const code = errorCodeOf(error) ?? (exitCodeOf(error) === exitCodes.usage.code ? "USAGE" : "FAILURE");
  const message = told(error);
  return json ? jsonLine({ error: code, message }) : `${inertLines(message)} [${code}]`;
}

/** Our own messages hold no payload; any other may quote it, so only its class and place are told. */
function told(error: unknown): string {
  if (error instanceof Error && (errorCodeOf(error) !== undefined || isMisuse(error))) return error.message;
  return `Cannot finish the command: ${errorSummary(error)}`;
}
