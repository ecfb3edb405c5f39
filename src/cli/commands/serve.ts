import { type Command, InvalidArgumentError, Option } from "commander";
import type { App, Role } from "../../app/app.ts";
import { type Duration, durationMs } from "../../domain/duration.ts";
import { CounterfoilError } from "../../domain/errors.ts";
import { jsonLogger, type JsonLoggerOptions } from "../../telemetry/logger.ts";
import { baseCommand, type SharedOptions, wholeNumber } from "../base-command.ts";
import { loadApp } from "../load-app.ts";
import { printResult } from "../output.ts";

type LogLevel = NonNullable<JsonLoggerOptions["level"]>;

interface ServeOptions extends SharedOptions {
  readonly role: Role | "both";
  readonly port: number;
  readonly host: string;
  readonly log: LogLevel;
  readonly lameDuck: Duration;
}

const levels: readonly LogLevel[] = ["trace", "debug", "info", "warn", "error", "fatal", "silent"];

export function serveCommand(): Command {
  return baseCommand({
    name: "serve",
    summary: "Receive webhooks, carry out what is owed, or both, until a signal ends it",
    details:
      "When it is ready it prints one line to standard output; its log goes to standard error as JSON lines. " +
      "SIGINT or SIGTERM ends it cleanly, with calls in flight given the grace; a second signal ends it at once. " +
      "Behind a proxy give it time to look elsewhere first: --lame-duck.",
    examples: ["serve", "serve --port 8080 --host 0.0.0.0 --lame-duck 10s", "serve --role worker --log warn"],
  })
    .addOption(new Option("--role <role>", "what to do").choices(["receiver", "worker", "both"]).default("both"))
    .option("--port <port>", "port of the hooks; 0 takes a free one", wholeNumber, 4600)
    .option("--host <address>", "address on which hooks are received", "127.0.0.1")
    .addOption(new Option("--log <level>", "least level that is logged").choices(levels).default("info"))
    .option("--lame-duck <time>", "how long to go on receiving after a signal, while not ready", duration, "0s")
    .action(serve);
}

function duration(text: string): Duration {
  try {
    durationMs(text as Duration);
  } catch {
    throw new InvalidArgumentError('It must be a time such as "10s".');
  }
  return text as Duration;
}

async function serve(options: ServeOptions): Promise<void> {
  const roles: readonly Role[] = options.role === "both" ? ["receiver", "worker"] : [options.role];
  const ended = endSignal();
  const app = await loadApp(options.config);
  app.subscribe(jsonLogger({ level: options.log, destination: process.stderr }));
  // What never served has no proxy to wait for.
  let lameDuck: Duration = "0s";
  try {
    await app.start({ roles });
    const url = roles.includes("receiver") ? await listen(app, options) : null;
    const ready = { ready: true, url, basePath: app.basePath, connections: [...app.connections.keys()], roles };
    printResult(options, ready, () => readyText(ready));
    await ended;
    ({ lameDuck } = options);
  } finally {
    await app.stop({ lameDuck });
  }
}

async function listen(app: App, { port, host }: ServeOptions): Promise<string> {
  try {
    return (await app.listen({ port, host })).url;
  } catch (error) {
    const code = error instanceof Error && "syscall" in error && "code" in error ? String(error.code) : undefined;
    if (code === undefined) throw error;
    throw new CounterfoilError(
      "CONFIG_INVALID",
      `Cannot listen on ${host}:${port}: ${code}; choose another --port or --host`,
      {
        cause: error,
      },
    );
  }
}

function readyText(ready: {
  readonly url: string | null;
  readonly basePath: string;
  readonly connections: readonly string[];
  readonly roles: readonly Role[];
}): string {
  const hooks =
    ready.url &&
    `hooks on ${ready.url}${ready.basePath}/<connection> (${ready.connections.join(", ") || "no connection"})`;
  const worker = ready.roles.includes("worker") && "worker running";
  return `Ready: ${[hooks, worker].filter(Boolean).join("; ")}.`;
}

/** Resolves at the first signal; the second ends the process as it stands, which leases and receipts survive. */
function endSignal(): Promise<void> {
  return new Promise((resolve) => {
    // Waiting for a signal alone does not keep a process alive.
    const alive = setInterval(() => undefined, 60_000);
    let signals = 0;
    const onSignal = (): void => {
      signals += 1;
      if (signals > 1) process.exit(1);
      clearInterval(alive);
      resolve();
    };
    process.on("SIGINT", onSignal).on("SIGTERM", onSignal);
  });
}
