import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import type { Clock } from "./clock.ts";

/**
 * The machine's own clocks.
 *
 * Monotonic time is CLOCK_MONOTONIC (what `process.hrtime` reads), which all processes of one boot
 * share. The boot id is the kernel's on Linux and macOS. Elsewhere it is one fixed name: a reboot is
 * then only known by monotonic time that began anew, which a store of leases must look for itself.
 *
 * @example
 * ```ts
 * const clock = systemClock();
 * clock.wallMs(); // milliseconds since the Unix epoch
 * ```
 */
export function systemClock(): Clock {
  return {
    wallMs: () => Date.now(),
    monotonicMs: () => Number(process.hrtime.bigint() / 1_000_000n),
    bootId: bootId(),
    timer: (delayMs, fire) => {
      const timer = setTimeout(fire, delayMs).unref();
      return () => clearTimeout(timer);
    },
  };
}

function bootId(): string {
  try {
    if (process.platform === "linux") return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    if (process.platform === "darwin") {
      return execFileSync("/usr/sbin/sysctl", ["-n", "kern.bootsessionuuid"], { encoding: "utf8" }).trim();
    }
  } catch {
    // A sandbox may hide it; all processes in it then share the name below.
  }
  return "unknown-boot";
}
