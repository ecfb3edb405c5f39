import { availableParallelism } from "node:os";
import { type Command, InvalidArgumentError, Option } from "commander";
import type { App, ListenOptions, Role } from "../../app/app.ts";
import { type Duration, durationMs } from "../../domain/duration.ts";
import { CounterfoilError } from "../../domain/errors.ts";
import { isJsonLogger, jsonLogger, type JsonLoggerOptions } from "../../telemetry/logger.ts";
import { baseCommand, type SharedOptions, wholeNumber } from "../base-command.ts";
import { loadConfiguration } from "../load-app.ts";
import { printResult } from "../output.ts";

type LogLevel = NonNullable<JsonLoggerOptions["level"]>;

interface ServeOptions extends SharedOptions {
  readonly role: Role | "both";
  readonly port: number;
  readonly host: string;
  readonly healthPort?: number;
  readonly log?: LogLevel;
  readonly lameDuck: Duration;
  readonly httpThread: boolean;
}

const levels: readonly LogLevel[] = ["trace", "debug", "info", "warn", "error", "fatal", "silent"];

export function serveCommand(): Command {
  return baseCommand({
    name: "serve",
    summary: "Receive webhooks, carry out what is owed, or both, until a signal ends it",
    details:
      "When it is ready it prints one line to standard output; its log goes to standard error as JSON lines, " +
      "where the configuration has no jsonLogger of its own. " +
      "SIGINT or SIGTERM ends it cleanly, with calls in flight given the grace; a second signal ends it at once. " +
      "Behind a proxy give it time to look elsewhere first: --lame-duck. Health is told beside the hooks, " +
      "or with --health-port on a port that the public does not reach. " +
      "HTTP and signatures have a thread of their own, which loads the configuration once more, " +
      "where the machine has a second processor.",
    examples: [
      "serve",
      "serve --port 8080 --host 0.0.0.0 --lame-duck 10s",
      "serve --role worker --health-port 4601 --log warn",
    ],
  })
    .addOption(new Option("--role <role>", "what to do").choices(["receiver", "worker", "both"]).default("both"))
    .option("--port <port>", "port of the hooks; 0 takes a free one", wholeNumber, 4600)
    .option("--host <address>", "address on which it listens", "127.0.0.1")
    .option("--health-port <port>", "port of health alone, for every role; 0 takes a free one", wholeNumber)
    .addOption(
      new Option("--log <level>", "least level that is logged (default: info, or what the configuration logs)").choices(
        levels,
      ),
    )
    .option("--lame-duck <time>", "how long to go on receiving after a signal, while not ready", duration, "0s")
    .option("--no-http-thread", "receive HTTP in the thread that writes")
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
  const { app, url: configuration } = await loadConfiguration(options.config);
  const thread = options.httpThread && availableParallelism() > 1 ? configuration : undefined;
  if (options.log !== undefined || ![...app.subscribers].some(isJsonLogger)) {
    app.subscribe(jsonLogger({ level: options.log, destination: process.stderr }));
  }
  // What never served has no proxy to wait for.
  let lameDuck: Duration = "0s";
  try {
    await app.start({ roles });
    const { url, healthUrl } = await listen(app, { ...options, receives: roles.includes("receiver"), thread });
    const { listed, sources } = app.connections;
    const connections = [...listed.keys(), ...sources.map(({ route }) => route)];
    const ready = { ready: true, url, healthUrl, basePath: app.basePath, connections, roles };
    printResult(options, ready, () => readyText(ready));
    await ended;
    ({ lameDuck } = options);
  } finally {
    await app.stop({ lameDuck });
  }
}

async function listen(
  app: App,
  {
    port,
    host,
    healthPort,
    receives,
    thread,
  }: ServeOptions & { readonly receives: boolean; readonly thread: URL | undefined },
): Promise<{ readonly url: string | null; readonly healthUrl: string | null }> {
  const serves = healthPort === undefined ? "all" : "hooks";
  const url = receives ? await listenOn(app, { port, host, serves, ...(thread && { thread }) }, "--port") : null;
  if (healthPort === undefined) return { url, healthUrl: url };
  return { url, healthUrl: await listenOn(app, { port: healthPort, host, serves: "health" }, "--health-port") };
}

async function listenOn(app: App, options: ListenOptions, flag: string): Promise<string> {
  try {
    return (await app.listen(options)).url;
  } catch (cause) {
    const code = cause instanceof Error && "syscall" in cause && "code" in cause ? String(cause.code) : undefined;
    if (code === undefined) throw cause;
    const where = `${options.host}:${options.port}`;
    const message = `Cannot listen on ${where}: ${code}; choose another ${flag} or --host`;
    throw new CounterfoilError("CONFIG_INVALID", message, { cause });
  }
}

function readyText(ready: {
  readonly url: string | null;
  readonly healthUrl: string | null;
  readonly basePath: string;
  readonly connections: readonly string[];
  readonly roles: readonly Role[];
}): string {
  const hooks =
    ready.url &&
    `hooks on ${ready.url}${ready.basePath}/<connection> (${ready.connections.join(", ") || "no connection"})`;
  const worker = ready.roles.includes("worker") && "worker running";
  const health = ready.healthUrl !== ready.url && `health on ${ready.healthUrl}/health`;
  return `Ready: ${[hooks, worker, health].filter(Boolean).join("; ")}.`;
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
