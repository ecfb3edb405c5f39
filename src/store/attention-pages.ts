/**
 * Pages of what needs an operator, for every engine.
 *
 * It is found in several lists, each with rows of its own and in an order of its own. A page takes from
 * them in turn, so that no kind hides another and what one does not need the others get. The cursor of an
 * item holds how far each list had got when it was taken: what follows is found by keys, so that rows
 * that come and go meanwhile make it neither skip nor repeat any other.
 */
import type { Attention, Counts } from "./reader.ts";

/** Where a row stands in its list; later rows have a greater one, compared member by member. */
export type Key = readonly (string | number)[];

/** A row of a list, and where it stands. */
export interface Found {
  readonly item: Listed<Attention>;
  readonly key: Key;
}

/** Each kind without its cursor. */
type Listed<Item> = Item extends Attention ? Omit<Item, "cursor"> : never;

/** Keys before the first row of each list, in the order in which a page takes from them. */
const starts: readonly Key[] = [
  // Paused destinations, by name.
  [""],
  // Obligations that move by nobody else, by id.
  [0],
  // Events that move by nobody else, by id.
  [0],
  // Of the others, those past their deadline: by deadline, then id.
  [0, 0],
  // Of the others, those long due that nobody applies: by due time, then id.
  [0, 0],
  // Of the others, those with a mismatch, by id.
  [0],
  // Effects that nobody takes, by name.
  [""],
  // Refreshes that failed for good, by resource.
  ["", "", "", ""],
  // Kinds of resources that nobody refreshes, by name.
  [""],
  // Paused connections, by id.
  [""],
];

/**
 * Reads how far each list had got, in the order above.
 *
 * @throws RangeError when it is no cursor of an item.
 * @example
 * ```ts
 * readCursor(undefined)[0]; // [""]
 * readCursor("page 2"); // throws RangeError: Cannot go on after "page 2"
 * ```
 */
export function readCursor(cursor: string | undefined): readonly Key[] {
  if (cursor === undefined) return starts;
  const keys = parsed(cursor);
  if (isLike(keys, starts)) return keys;
  throw new RangeError(`Cannot go on after "${cursor}": it is no cursor of an item; leave it out to begin anew`);
}

function parsed(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, "base64url").toString());
  } catch {
    // Not what we wrote, which the caller tells.
    return undefined;
  }
}

/** Whether a value has the shape of a sample: lists as long, of strings and whole numbers where it has them. */
function isLike<T>(value: unknown, sample: T): value is T {
  if (Array.isArray(sample)) {
    return (
      Array.isArray(value) &&
      value.length === sample.length &&
      sample.every((each, index) => isLike(value[index], each))
    );
  }
  return typeof value === typeof sample && (typeof value !== "number" || Number.isSafeInteger(value));
}

/** Takes from the lists in turn, each of which begins behind its key of `from`. */
export function takeInTurn(
  lists: readonly (readonly Found[])[],
  { from, limit }: { readonly from: readonly Key[]; readonly limit: number },
): Attention[] {
  const keys = [...from];
  const taken: Attention[] = [];
  for (let row = 0; lists.some((list) => row < list.length); row += 1) {
    for (const [at, list] of lists.entries()) {
      const found = list[row];
      if (found === undefined || taken.length >= limit) continue;
      keys[at] = found.key;
      const cursor = Buffer.from(JSON.stringify(keys)).toString("base64url");
      taken.push({ ...found.item, cursor });
    }
  }
  return taken;
}

/** Effects with something due since an instant that nobody seen since then takes; there are few effects. */
export function untaken(
  { due, workers }: Pick<Counts, "due" | "workers">,
  { since, after: [after = ""] }: { readonly since: number; readonly after: Key },
): readonly Found[] {
  const taken = new Set(workers.filter(({ seenAt }) => seenAt > since).flatMap(({ effects }) => effects));
  return due
    .flatMap(({ effect, at }) => {
      if (effect === null || at > since || taken.has(effect) || effect <= after) return [];
      return [{ item: { kind: "effect" as const, effect, dueAt: at }, key: [effect] }];
    })
    .toSorted((left, right) => (left.item.effect < right.item.effect ? -1 : 1));
}

/** Kinds of which a refresh has been due since an instant; there are few kinds, which come in order. */
export function unrefreshed(
  due: Counts["refreshes"]["due"],
  { since, after: [after = ""] }: { readonly since: number; readonly after: Key },
): readonly Found[] {
  return due.flatMap(({ kind: resource, at }) => {
    if (at > since || resource <= after) return [];
    return [{ item: { kind: "resource" as const, resource, dueAt: at }, key: [resource] }];
  });
}
