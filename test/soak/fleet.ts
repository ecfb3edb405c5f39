/** Receivers and workers as processes of their own: the real command line, killed at any moment and started again. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const main = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const folder = fileURLToPath(new URL(".", import.meta.url));
const guard = new URL("children/end-with-parent.ts", import.meta.url).href;
const compileCache = join(tmpdir(), "counterfoil-compile-cache");
const logCharactersMax = 65_536;
/** How the command line ends where the database cannot be used. */
const storeExitCode = 3;

export type Role = "receiver" | "worker";
export type Environment = Readonly<Record<string, string>>;

/** Runs one command of the application to its end. */
export async function runCommand(environment: Environment, ...args: readonly string[]): Promise<void> {
  const child = start(environment, args);
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (said += text));
  const { promise, resolve } = Promise.withResolvers<number | null>();
  child.once("close", resolve);
  const code = await promise;
  if (code !== 0) throw new Error(`counterfoil ${args.join(" ")} ended with ${code}: ${said}`);
}

function start(environment: Environment, args: readonly string[]): ChildProcessWithoutNullStreams {
  const flags = ["--conditions=counterfoil-source", "--import", guard];
  return spawn(process.execPath, [...flags, main, ...args], {
    cwd: folder,
    env: { ...process.env, NODE_COMPILE_CACHE: compileCache, ...environment },
  });
}

/** A place in the fleet: a process that is started again whenever it was killed. */
export class Member {
  readonly role: Role;
  readonly #environment: Environment;
  #child: ChildProcessWithoutNullStreams;
  #stopping = false;
  /** Where it listens; undefined until it is ready. */
  url: string | undefined;
  healthUrl: string | undefined;
  /** How it ended by itself, if it did. */
  failure: string | undefined;
  /** What it logged: warnings and errors, the last of them. */
  log = "";
  kills = 0;
  isFrozen = false;

  constructor(role: Role, environment: Environment) {
    this.role = role;
    this.#environment = environment;
    this.#child = this.#start();
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** SIGKILL, and a new process in its place. */
  kill(): void {
    this.kills += 1;
    this.isFrozen = false;
    this.#child.kill("SIGKILL");
    this.#child = this.#start();
  }

  /** Stops it where it is, as on a machine that hangs, until it is let go on. */
  freeze(frozen: boolean): void {
    this.isFrozen = frozen;
    this.#child.kill(frozen ? "SIGSTOP" : "SIGCONT");
  }

  /** Ends it as a deployment does; gives its exit code. */
  async stop(): Promise<number | null> {
    const child = this.#child;
    this.#stopping = true;
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
    const { promise, resolve } = Promise.withResolvers<number | null>();
    // One that was just started again serves nothing yet, and has nothing to end in order.
    const serves = this.healthUrl !== undefined;
    child.once("close", (code) => resolve(serves ? code : 0));
    child.kill("SIGTERM");
    return promise;
  }

  /** Ends it at once, for good. */
  destroy(): void {
    this.#stopping = true;
    this.#child.kill("SIGKILL");
  }

  #start(): ChildProcessWithoutNullStreams {
    const port = this.role === "receiver" ? ["--port", "0"] : [];
    const child = start(this.#environment, [
      "serve",
      "--role",
      this.role,
      ...port,
      "--health-port",
      "0",
      "--json",
      "--log",
      "warn",
    ]);
    [this.url, this.healthUrl] = [undefined, undefined];
    let said = "";
    child.stdin.on("error", () => undefined);
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      said += text;
      if (child === this.#child && said.endsWith("\n")) this.#ready(said);
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.log = (this.log + text).slice(-logCharactersMax);
    });
    child.once("close", (code, signal) => {
      if (child !== this.#child || this.#stopping) return;
      // A start that finds no database ends; whoever runs it starts it again.
      if (this.healthUrl === undefined && code === storeExitCode) {
        this.#child = this.#start();
        return;
      }
      this.failure ??= `${this.role} ${child.pid} ended by itself with ${signal ?? code}: ${this.log.slice(-2_000)}`;
    });
    return child;
  }

  #ready(line: string): void {
    const { url, healthUrl } = JSON.parse(line) as { url: string | null; healthUrl: string };
    this.url = url ?? undefined;
    this.healthUrl = healthUrl;
  }
}
