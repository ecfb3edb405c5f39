import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { eventually } from "../testing/eventually.ts";
import { systemClock } from "./system-clock.ts";

test("both clocks are whole milliseconds, and monotonic time does not go back", () => {
  const clock = systemClock();
  const readings = Array.from({ length: 1_000 }, () => clock.monotonicMs());
  expect(readings).toEqual(readings.toSorted((left, right) => left - right));
  expect(readings.every(Number.isSafeInteger)).toBe(true);
  expect(Number.isSafeInteger(clock.wallMs())).toBe(true);
});

test("the boot id is the same for every clock of this boot", () => {
  expect(systemClock().bootId).toBe(systemClock().bootId);
  expect(systemClock().bootId).not.toBe("");
});

test.runIf(process.platform === "linux")(
  "on Linux monotonic time is that of every process, and the boot id the kernel's",
  () => {
    expect(systemClock().bootId).toBe(readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim());
    // The first number of /proc/uptime is seconds since the boot, which is close where nothing was suspended.
    const before = systemClock().monotonicMs();
    expect(before).toBeLessThanOrEqual(Number(readFileSync("/proc/uptime", "utf8").split(" ")[0]) * 1_000 + 1_000);
  },
);

test("a timer fires once, unless it is cancelled", async () => {
  const clock = systemClock();
  const fired: string[] = [];
  const cancel = clock.timer(1, () => fired.push("cancelled"));
  cancel();
  clock.timer(2, () => fired.push("fired"));
  await eventually(() => fired.length === 1);
  cancel();
  expect(fired).toEqual(["fired"]);
});
