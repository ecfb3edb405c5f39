/**
 * Whoever waits for a table's exclusive lock stands in front of everybody who comes after: a migration behind
 * one long report would hold up every receiver. So it waits briefly, gives up everything it has, lets the
 * others pass, and tries again.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { hasCode } from "../../domain/errors.ts";
import { systemRandom } from "../../domain/random.ts";

/** Longest wait of a migration for each table's lock; shorter than the second after which a server looks for deadlocks. */
export const tableLockMs = 500;

const firstPauseMs = 250;
const longestPauseMs = 4_000;

/** Tries until the locks are free, for `withinMs`; rejects with the last STORE_BUSY then, and with any other error at once. */
export async function untilMigrated<T>(attempt: () => Promise<T>, { withinMs }: { withinMs: number }): Promise<T> {
  const deadlineMs = performance.now() + withinMs;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
    try {
      return await attempt();
    } catch (error) {
      const leftMs = deadlineMs - performance.now();
      if (!(hasCode(error, "STORE_BUSY") || hasCode(error, "RACE_LOST")) || leftMs <= 0) throw error;
      await sleep(Math.min(leftMs, pauseMs * (0.5 + systemRandom())));
    }
  }
}
