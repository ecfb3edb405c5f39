import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { Argument, type Command } from "commander";
import { checkVectors, type ProviderVector } from "../../providers/check-vectors.ts";
import type { ProviderData } from "../../providers/provider.ts";
import { baseCommand, type SharedOptions } from "../base-command.ts";
import { exitCodes } from "../exit-codes.ts";
import { printRows } from "../output.ts";
import { tableText } from "../table.ts";

interface ProviderOptions extends SharedOptions {
  readonly vectors?: string;
}

interface Declared {
  readonly default?: Pick<ProviderData, "rules">;
  readonly vectors?: readonly ProviderVector[];
}

export function providerCommand(): Command {
  return baseCommand(
    {
      name: "provider",
      summary: "Run deliveries whose verdict is known against a provider of your own",
      details:
        "The file's default export is the provider, and its export vectors the deliveries. Ends with 1 when one comes out otherwise.",
      examples: ["provider test acme.ts", "provider test acme.ts --vectors acme-vectors.json --json"],
    },
    { config: false },
  )
    .addArgument(new Argument("<action>", "what to do").choices(["test"]))
    .argument("<file>", "module that declares the provider")
    .option("--vectors <file>", "JSON file with the deliveries, instead of the module's own")
    .action(async (_action: string, file: string, options: ProviderOptions) => test(file, options));
}

async function test(file: string, options: ProviderOptions): Promise<void> {
  const path = resolve(file);
  if (!existsSync(path)) throw new TypeError(`Cannot test the provider: there is no file ${path}`);
  const module = (await import(pathToFileURL(path).href)) as Declared;
  const { default: provider } = module;
  const vectors = options.vectors === undefined ? module.vectors : readVectors(options.vectors);
  if (provider?.rules === undefined) throw new TypeError(`Cannot test ${path}: its default export is no provider`);
  if (!Array.isArray(vectors) || vectors.length === 0) {
    throw new TypeError(`Cannot test ${path}: it has no vectors; export some, or name a file with --vectors`);
  }
  for (const [index, vector] of vectors.entries()) assertVector(vector, index);
  const results = await checkVectors(provider, vectors as readonly ProviderVector[]);
  printRows(options, results, () =>
    tableText(
      ["vector", "verdict", "as expected"],
      results.map(({ name, verdict, passed }) => [name, verdict, passed]),
    ),
  );
  if (results.some(({ passed }) => !passed)) process.exitCode = exitCodes.refused.code;
}

function readVectors(file: string): unknown {
  const path = resolve(file);
  if (!existsSync(path)) throw new TypeError(`Cannot read the vectors: there is no file ${path}`);
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw new TypeError(`Cannot read the vectors of ${path}: it is no JSON; write a list of deliveries`, {
      cause: error,
    });
  }
}

function assertVector(vector: unknown, index: number): void {
  const { name, secrets, headers, body, valid } = (vector ?? {}) as Readonly<Record<keyof ProviderVector, unknown>>;
  const wrong = [
    typeof name !== "string" && "name (text)",
    !Array.isArray(secrets) && "secrets (a list of texts)",
    (typeof headers !== "object" || headers === null) && "headers (an object of texts)",
    typeof body !== "string" && typeof (body as { base64?: unknown } | null)?.base64 !== "string" && "body (text)",
    typeof valid !== "boolean" && "valid (true or false)",
  ].filter((part) => part !== false);
  if (wrong.length === 0) return;
  throw new TypeError(`Cannot use vector ${index + 1}: it lacks ${wrong.join(", ")}`);
}
