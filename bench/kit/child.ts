import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/**
 * A script of this folder as a process of its own. It speaks in lines on its standard output and
 * lives no longer than the pipe to its standard input, so that nothing outlives a killed parent.
 */
export interface Child {
  readonly pid: number;
  /** The next line that matches, also one printed before the call. */
  line(pattern: RegExp, options: { readonly timeoutMs: number }): Promise<RegExpExecArray>;
  /** Closes its standard input and waits for its end; after five seconds it is killed by its pid. */
  end(): Promise<void>;
  /** Kills it by its pid, at once and without warning. */
  kill(): Promise<void>;
}

const endGraceMs = 5_000;
const complaintLength = 2_000;

/** Lets `counterfoil` in a script mean the sources of this checkout. */
const sources = "--conditions=counterfoil-source";

/** Starts a script, named by its path under `bench/`, with the Node that runs this process. */
export function startChild(
  script: string,
  options: { readonly args: readonly string[]; readonly env?: Readonly<Record<string, string>> },
): Child {
  const path = fileURLToPath(new URL(`../${script}`, import.meta.url));
  const child = spawn(process.execPath, [sources, path, ...options.args], {
    stdio: "pipe",
    env: { ...process.env, ...options.env },
  });
  const exited = once(child, "exit");
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  const wake = (): void => {
    for (const look of waiting) look();
  };
  const reader = createInterface({ input: child.stdout });
  reader.on("line", (line) => {
    lines.push(line);
    wake();
  });
  let complaint = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    complaint = (complaint + text).slice(-complaintLength);
  });
  let closed = false;
  child.on("close", () => {
    closed = true;
    wake();
  });

  function line(pattern: RegExp, { timeoutMs }: { timeoutMs: number }): Promise<RegExpExecArray> {
    const { promise, resolve, reject } = Promise.withResolvers<RegExpExecArray>();
    const look = (): void => {
      for (let text = lines.shift(); text !== undefined; text = lines.shift()) {
        const match = pattern.exec(text);
        if (match) return resolve(match);
      }
      if (closed) reject(new Error(`${script} ended before it printed ${pattern}: ${complaint}`));
    };
    const deadline = setTimeout(() => {
      reject(new Error(`${script} did not print ${pattern} within ${timeoutMs} ms`));
    }, timeoutMs);
    waiting.add(look);
    look();
    return promise.finally(() => {
      clearTimeout(deadline);
      waiting.delete(look);
    });
  }

  async function kill(): Promise<void> {
    child.kill("SIGKILL");
    await exited;
  }

  async function end(): Promise<void> {
    child.stdin.end();
    const deadline = setTimeout(() => child.kill("SIGKILL"), endGraceMs);
    await exited;
    clearTimeout(deadline);
  }

  // A child that is gone already makes the pipe fail; its exit is what is waited for.
  child.stdin.on("error", () => {});
  const { pid } = child;
  if (pid === undefined) throw new Error(`Cannot start ${script}: ${process.execPath} did not start`);
  return { pid, line, end, kill };
}

/** The child's side: says the port of its URL and ends with the pipe from the parent. */
export function announceListening(url: string): void {
  process.stdout.write(`listening ${new URL(url).port}\n`);
  endWithParent();
}

/** The child's side: ends this process when the parent closes the pipe or dies. */
export function endWithParent(): void {
  process.stdin.on("end", () => process.exit(0));
  process.stdin.resume();
}
