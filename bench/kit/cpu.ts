import { readFileSync } from "node:fs";
import { cpus } from "node:os";

const linuxTicksPerSecond = 100;

/** CPU seconds that a process has used so far; undefined where the system has no /proc. */
export function processCpuSeconds(pid: number): number | undefined {
  if (process.platform !== "linux") return undefined;
  const text = readFileSync(`/proc/${pid}/stat`, "latin1");
  // The command name may hold spaces, so fields are counted from its closing bracket.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / linuxTicksPerSecond;
}

/** CPU seconds that the whole machine has been busy since it started. */
export function machineCpuSeconds(): number {
  let busyMs = 0;
  for (const { times } of cpus()) busyMs += times.user + times.nice + times.sys + times.irq;
  return busyMs / 1000;
}
