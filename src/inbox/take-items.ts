import { CounterfoilError, type ErrorCode, hasCode, storeTroubles } from "../domain/errors.ts";
import type { Readable, Received, ReceivedItem } from "./arrival.ts";

/** Troubles that the next items would meet as well. */
const sharedTroubles: readonly ErrorCode[] = ["OVERLOADED", "SCHEMA_OUTDATED", "SCHEMA_NEWER", ...storeTroubles];

export interface TakeItemsOptions {
  /** Items on their way at once: as many as share a commit, so that a batch does not fill the queue. */
  readonly groupMax: number;
  readonly take: (item: Readable) => Promise<Received>;
}

/**
 * Takes the items of a batch, some at a time. Each has its own fate, except that a store which takes no
 * more is not asked for each of the rest: the sender tries again, and what was taken is a duplicate then.
 */
export async function takeItems(
  items: readonly (Readable | CounterfoilError)[],
  { groupMax, take }: TakeItemsOptions,
): Promise<readonly ReceivedItem[]> {
  const taken: ReceivedItem[] = [];
  while (taken.length < items.length) {
    const group = items.slice(taken.length, taken.length + groupMax);
    const fates = await Promise.all(group.map((item) => takeItem(item, take)));
    taken.push(...fates);
    const trouble = fates.find((fate) => fate.kind === "refused" && hasCode(fate.error, ...sharedTroubles));
    if (trouble !== undefined) taken.push(...items.slice(taken.length).map(() => trouble));
  }
  return taken;
}

async function takeItem(
  item: Readable | CounterfoilError,
  take: (item: Readable) => Promise<Received>,
): Promise<ReceivedItem> {
  if (item instanceof CounterfoilError) return { kind: "refused", error: item };
  try {
    return { kind: "received", received: await take(item) };
  } catch (error) {
    return { kind: "refused", error };
  }
}
