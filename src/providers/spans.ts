/** Spans of time in milliseconds, for presets. */
export const minute = 60_000;
export const hour = 3_600_000;
export const day: number = 24 * hour;
