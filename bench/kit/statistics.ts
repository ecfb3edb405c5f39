/** The middle of the values, or the mean of the two in the middle; NaN if there are none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (index: number): number => sorted[index] ?? Number.NaN;
  return (at(Math.ceil(sorted.length / 2) - 1) + at(Math.floor(sorted.length / 2))) / 2;
}

/** The smallest of the sorted values that this share (0 to 1) of them do not exceed; NaN if there are none. */
export function percentile(sorted: Float64Array, share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

/** Rounds for display and JSON; the noise of a run is far above what is cut off. */
export function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
