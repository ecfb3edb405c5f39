/**
 * A Node process of a test: started from a TypeScript file, asked over a pipe, killed at any moment,
 * and never left behind.
 *
 * Parent to child, on standard input, one JSON object a line: `{ id, ask, input }`. Child to parent, on
 * standard output: `{ id, answer }`, `{ id, error }`, or `{ told }` unasked. The child's half is
 * `child.ts`. Whatever else the child writes is kept as its output, for the error message.
 */
import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Json } from "../domain/json.ts";
import { onLine } from "./lines.ts";

const outputCharactersMax = 65_536;

/** Children of one file compile the same sources: what one compiled, the next ones read. */
const compileCache = join(tmpdir(), "counterfoil-compile-cache");

/** Settings of {@link startProcess}. */
export interface StartProcessOptions {
  readonly arguments?: readonly string[];
  /** Merged over this process's own environment. */
  readonly environment?: Readonly<Record<string, string>>;
  /** How long one ask may take. Default 60 000 ms. */
  readonly withinMs?: number;
}

/** How a process ended: by itself with a code, or by a signal. */
export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** One line from a child. */
export type ChildLine =
  | { readonly id: number; readonly answer: Json }
  | { readonly id: number; readonly error: string }
  | { readonly told: Json };

/**
 * Starts a file that calls `answerParent`.
 *
 * @example
 * ```ts no-run
 * await using worker = startProcess(new URL("./children/worker.ts", import.meta.url));
 * await worker.ask("claim", { limit: 10 });
 * await worker.kill();
 * ```
 */
export function startProcess(file: URL, options: StartProcessOptions = {}): ChildProcess {
  // The child resolves packages as this process does, and is told nothing of its test runner.
  const conditions = process.execArgv.filter((flag) => flag.startsWith("--conditions="));
  const child = spawn(process.execPath, [...conditions, fileURLToPath(file), ...(options.arguments ?? [])], {
    // eslint-disable-next-line node/no-process-env -- a child without PATH and HOME is no usual process
    env: { ...process.env, NODE_COMPILE_CACHE: compileCache, ...options.environment },
  });
  return new ChildProcess(child, options.withinMs ?? 60_000);
}

/** A running child. */
export class ChildProcess implements AsyncDisposable {
  /** Resolves when the process is gone and all it wrote was read. */
  readonly ended: Promise<ProcessEnd>;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #withinMs: number;
  readonly #asked: Map<number, PromiseWithResolvers<Json>> = new Map();
  readonly #told: Json[] = [];
  #asks = 0;
  #output = "";

  constructor(child: ChildProcessWithoutNullStreams, withinMs: number) {
    this.#child = child;
    this.#withinMs = withinMs;
    const { promise, resolve } = Promise.withResolvers<ProcessEnd>();
    this.ended = promise;
    child.once("error", (error) => this.#keepOutput(error.message));
    child.once("close", (code, signal) => {
      this.#refuseAll(`it ended by ${signal ?? `code ${code}`}`);
      resolve({ code, signal });
    });
    onLine(child.stdout, (line) => this.#hear(line));
    child.stderr.setEncoding("utf8").on("data", (text: string) => this.#keepOutput(text));
    // The end of the process says what a broken pipe would say.
    child.stdin.on("error", () => undefined);
  }

  /** The process id. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** What the child said unasked, oldest first; lines written before its death are all here. */
  get told(): readonly Json[] {
    return this.#told;
  }

  /** The last 64 Ki characters of standard error and of standard output outside the protocol. */
  get output(): string {
    return this.#output;
  }

  /**
   * Calls a handler in the child and gives its answer.
   *
   * @throws Error when the handler throws, the process ends first, or the time is up.
   */
  async ask(name: string, input: Json = null): Promise<Json> {
    const id = (this.#asks += 1);
    const asked = Promise.withResolvers<Json>();
    this.#asked.set(id, asked);
    const timer = setTimeout(() => this.#refuse(id, `no answer within ${this.#withinMs} ms`), this.#withinMs);
    this.#child.stdin.write(`${JSON.stringify({ id, ask: name, input })}\n`);
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) this.#refuse(id, "it has ended");
    try {
      return await asked.promise;
    } catch (error) {
      const reason = (error as Error).message;
      throw new Error(`Cannot ask process ${this.pid} to ${name}: ${reason}\n${this.#output}`, { cause: error });
    } finally {
      clearTimeout(timer);
      this.#asked.delete(id);
    }
  }

  /** Sends a signal, such as SIGSTOP and SIGCONT. */
  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Ends the process as a power cut would, also a stopped one, and waits until it is gone. */
  async kill(): Promise<ProcessEnd> {
    this.#child.kill("SIGKILL");
    return this.ended;
  }

  /** Lets the process end by itself: closes its input and waits. */
  async finish(): Promise<ProcessEnd> {
    this.#child.stdin.end();
    return this.ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  #hear(line: string): void {
    const heard = readLine(line);
    if (heard === undefined) return this.#keepOutput(`${line}\n`);
    if ("told" in heard) return void this.#told.push(heard.told);
    if ("error" in heard) return this.#refuse(heard.id, heard.error);
    this.#asked.get(heard.id)?.resolve(heard.answer);
  }

  #refuse(id: number, reason: string): void {
    this.#asked.get(id)?.reject(new Error(reason));
  }

  #refuseAll(reason: string): void {
    for (const id of this.#asked.keys()) this.#refuse(id, reason);
  }

  #keepOutput(text: string): void {
    this.#output = (this.#output + text).slice(-outputCharactersMax);
  }
}

function readLine(line: string): ChildLine | undefined {
  if (!/^\{"(?:id|told)":/.test(line)) return undefined;
  try {
    return JSON.parse(line) as ChildLine;
  } catch {
    return undefined;
  }
}
