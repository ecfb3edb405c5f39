/** Gives a number in [0, 1). Injected wherever chance decides, so that a test can repeat a run. */
export type Random = () => number;

/** The chance that production uses. It spreads work in time and guards no secret. */
export const systemRandom: Random = Math.random;
