import { setTimeout } from "node:timers/promises";
import { machineCpuSeconds } from "./cpu.ts";

const sampleMs = 500;
const busyCoresMax = 0.2;

/** Waits until the machine has nothing else to do, at most so long: then it goes on regardless. */
export async function quiet(waitSeconds: number): Promise<void> {
  const deadline = performance.now() + waitSeconds * 1000;
  while (performance.now() < deadline) {
    const before = machineCpuSeconds();
    await setTimeout(sampleMs);
    if ((machineCpuSeconds() - before) / (sampleMs / 1000) < busyCoresMax) return;
  }
}
