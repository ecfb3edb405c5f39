/**
 * Lines: events of one order key are applied one after the other, by rank where the connection declares
 * one, else as they came.
 *
 * An event that is queued, held, parked or in conflict keeps its line: what comes behind it is queued too,
 * due only once the one in front is decided. So what waits in a line is nothing that a claim has to step
 * over, and no other line is slower for it. A suspect keeps none: whoever replays a delivery must not be
 * able to stop what follows.
 */
import type { OrderKey } from "../domain/receipt.ts";
import type { InLine, StoreTx } from "../store/store.ts";
import type { Reading } from "./arrival.ts";

/** The line that an event stands in; `null` where it stands in none. */
export function lineOf(
  { connection, account }: { readonly connection: string; readonly account: string },
  reading: Reading,
): OrderKey | null {
  if (reading.kind === "decided" || reading.orderKey === null) return null;
  return { connection, account, orderKey: reading.orderKey };
}

/** Whether another event of the line is to be decided first. Whoever asks has the line's lock. */
export async function isBehind(tx: StoreTx, event: InLine, line: OrderKey | null): Promise<boolean> {
  if (line === null) return false;
  const first = await tx.firstInOrder(line, event.id);
  return first !== undefined && isBefore(first, event);
}

/** As the stores sort: those with a rank first, by rank, then by id. */
function isBefore(left: InLine, right: InLine): boolean {
  if (left.rank === right.rank) return left.id < right.id;
  if (left.rank === null || right.rank === null) return right.rank === null;
  return left.rank < right.rank;
}
