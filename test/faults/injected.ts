/** Makes system calls of running processes fail, by strace: the fault begins when it attaches and ends when it lets go. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { eventually } from "../../src/testing/eventually.ts";

export interface Injection extends AsyncDisposable {
  /** How many calls were made to fail. */
  readonly hits: () => number;
}

/** `fault` as strace takes it, such as `fdatasync:error=EIO`. Children and threads of later meet it as well. */
export async function inject(fault: string, pids: readonly number[]): Promise<Injection> {
  const attach = pids.flatMap((pid) => ["-p", String(pid)]);
  const calls = fault.slice(0, fault.indexOf(":"));
  const tracer = spawn(
    "strace",
    ["-f", "-e", `trace=${calls}`, "-e", `inject=${fault}`, "-e", "signal=none", ...attach],
    {
      stdio: ["ignore", "ignore", "pipe"],
    },
  );
  const ended = once(tracer, "exit");
  let attached = false;
  let hits = 0;
  let rest = "";
  tracer.stderr.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    attached ||= lines.some((line) => line.includes("attached"));
    hits += lines.filter((line) => line.endsWith("(INJECTED)")).length;
  });
  await eventually(() => attached || tracer.exitCode !== null, { what: "strace" });
  if (tracer.exitCode !== null) throw new Error(`Cannot inject ${fault}: strace ended with ${tracer.exitCode}`);
  return {
    hits: () => hits,
    [Symbol.asyncDispose]: async () => {
      tracer.kill("SIGTERM");
      await ended;
    },
  };
}
