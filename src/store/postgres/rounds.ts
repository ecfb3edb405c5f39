/** Rows of one statement: more were planned badly, as a join of arrays that the planner takes for small. */
const roundMax = 500;

/**
 * Cuts a list into batches in which no key repeats, in its order: one statement writes a row once only.
 *
 * @example
 * ```ts
 * rounds([1, 2, 2, 3], (key) => key); // [[1, 2], [2, 3]]
 * ```
 */
export function rounds<Item>(items: readonly Item[], keyOf: (item: Item) => unknown): readonly (readonly Item[])[] {
  const batches: Item[][] = [];
  let keys = new Set<unknown>();
  for (const item of items) {
    const key = keyOf(item);
    const batch = batches.at(-1);
    if (batch && batch.length < roundMax && !keys.has(key)) {
      batch.push(item);
    } else {
      batches.push([item]);
      keys = new Set();
    }
    keys.add(key);
  }
  return batches;
}
