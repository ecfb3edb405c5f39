import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { App } from "../app/app.ts";
import { errorSummary } from "../domain/error-summary.ts";
import { CounterfoilError } from "../domain/errors.ts";
import { errorCodeOf } from "./exit-codes.ts";

/** Each spelling of a module, TypeScript first: whoever has it beside its own compiled output means the source. */
const names = ["ts", "mts", "js", "mjs"].map((ending) => `counterfoil.config.${ending}`);

/**
 * Loads the configuration: the file that is named, or the first of the default names in the working
 * folder. Its default export is the application.
 *
 * @throws CounterfoilError CONFIG_INVALID saying what is wrong with which file.
 */
export async function loadApp(file: string | undefined): Promise<App> {
  return (await loadConfiguration(file)).app;
}

/** The same, with the URL that another thread can load it from. */
export async function loadConfiguration(file: string | undefined): Promise<{ readonly app: App; readonly url: URL }> {
  const path = file === undefined ? names.map((name) => resolve(name)).find(existsSync) : resolve(file);
  if (path === undefined) {
    throw invalid(`there is no ${names.join(", ")} in ${process.cwd()}; write one, or name a file with --config`);
  }
  if (!existsSync(path)) throw invalid(`there is no file ${path}`);
  const url = pathToFileURL(path);
  const { default: app } = await importConfig(path, url);
  if (!isApp(app)) {
    throw invalid(`${path} has no application as its default export; write: export default defineApp({ ... })`);
  }
  return { app, url };
}

async function importConfig(path: string, url: URL): Promise<{ readonly default?: unknown }> {
  try {
    return (await import(url.href)) as { readonly default?: unknown };
  } catch (error) {
    if (errorCodeOf(error) !== undefined) throw error;
    // The message is of the user's own file, on the user's own terminal; without it nobody could mend the file.
    const message = error instanceof Error ? `${errorSummary(error)}: ${error.message}` : errorSummary(error);
    throw invalid(`${path} failed to load with ${message}`, error);
  }
}

function isApp(candidate: unknown): candidate is App {
  const members = ["open", "stop", "operator"] as const;
  return (
    typeof candidate === "object" &&
    candidate !== null &&
    members.every((name) => typeof (candidate as Partial<Record<string, unknown>>)[name] === "function")
  );
}

function invalid(problem: string, cause?: unknown): CounterfoilError {
  return new CounterfoilError("CONFIG_INVALID", `Cannot load the configuration: ${problem}`, { cause });
}
