/** As many of all lists as there is room for: no kind hides another, and what one does not need the others get. */
export function fairShare<T>(lists: readonly (readonly T[])[], limit: number): T[] {
  const taken = lists.map(() => 0);
  const total = lists.reduce((sum, { length }) => sum + length, 0);
  for (let left = Math.min(limit, total), turn = 0; left > 0; turn += 1) {
    const at = turn % lists.length;
    const count = taken[at] ?? 0;
    if (count >= (lists[at]?.length ?? 0)) continue;
    taken[at] = count + 1;
    left -= 1;
  }
  return lists.flatMap((list, at) => list.slice(0, taken[at]));
}
