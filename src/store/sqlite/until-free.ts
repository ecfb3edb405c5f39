import { setTimeout as sleep } from "node:timers/promises";
import { hasCode } from "../../domain/errors.ts";
import { systemRandom } from "../../domain/random.ts";

const firstDelayMs = 1;
const longestDelayMs = 16;

/**
 * Tries until the database is not locked by another process, with growing, jittered pauses in which
 * the event loop goes on: SQLite's own wait would block the loop that may have to release the lock.
 *
 * Rejects with the last STORE_BUSY once the deadline (by `performance.now()`) has passed, with any
 * other error at once.
 */
export async function untilFree<T>(attempt: () => T, deadlineMs: number): Promise<T> {
  for (let delayMs = firstDelayMs; ; delayMs = Math.min(2 * delayMs, longestDelayMs)) {
    try {
      return attempt();
    } catch (error) {
      const leftMs = deadlineMs - performance.now();
      if (!hasCode(error, "STORE_BUSY") || leftMs <= 0) throw error;
      await sleep(Math.min(leftMs, delayMs * (0.5 + systemRandom())));
    }
  }
}
