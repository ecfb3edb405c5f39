import { CounterfoilError, hasCode } from "../domain/errors.ts";
import type { StoreTx, TransactionOptions } from "../store/store.ts";
import type { Runtime } from "./runtime.ts";
import { noSignals, type Signals } from "./wake.ts";

/**
 * Runs a body in one durable transaction and wakes whoever its commit gave work.
 *
 * A transaction that lost a race with another is run again from its start, a bounded number of times;
 * the body must therefore touch nothing but the transaction.
 */
export async function transact<T>(
  runtime: Runtime,
  body: (tx: StoreTx, signals: Signals) => Promise<T>,
  options: TransactionOptions = { waitMs: runtime.limits.lockMs },
): Promise<T> {
  for (let run = 1; ; run += 1) {
    const signals = noSignals();
    try {
      const value = await runtime.store.transaction((tx) => body(tx, signals), options);
      runtime.wake.committed(signals);
      return value;
    } catch (error) {
      if (!hasCode(error, "RACE_LOST")) throw error;
      if (run >= runtime.limits.rerunsMax) {
        throw new CounterfoilError(
          "STORE_BUSY",
          `Cannot commit: the transaction lost ${run} races in a row; try again later`,
          { cause: error },
        );
      }
      // At once the first time: whoever won has most likely ended, and what was only hoped for needs no wait.
      if (run > 1) await pause(runtime, runtime.random() * 20 * run);
    }
  }
}

function pause(runtime: Runtime, delayMs: number): Promise<void> {
  return new Promise((resolve) => void runtime.clock.timer(delayMs, resolve));
}
