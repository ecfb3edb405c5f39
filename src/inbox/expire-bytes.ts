import type { Runtime } from "../work/runtime.ts";
import { transact } from "../work/transact.ts";

/** A batch this small keeps the lock short; what is left goes in the next one at once. */
const batchMax = 500;

/** Removes bytes whose time has come; their receipts stay, so that a late copy is still a duplicate. Gives whether there may be more. */
export async function expireBytes(runtime: Runtime): Promise<boolean> {
  const removed = await transact(runtime, (tx) => tx.expireBytes(batchMax));
  return removed === batchMax;
}
