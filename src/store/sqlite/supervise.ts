// Taken once: tests may replace the global functions by ones that a fake clock drives.
const nextTick: (fire: () => void) => void = process.nextTick.bind(process);
const microtask = queueMicrotask;

/**
 * Calls back when no more work can go on by itself: every microtask that was waiting has run.
 *
 * Statements settle at once, so a body that only waits for its transaction goes on in microtasks. A
 * tick that was set from within a microtask runs when the microtask queue is empty; a body that is
 * not settled by then waits for a timer, a socket, or a promise of somebody else's.
 */
export function whenDrained(fire: () => void): void {
  microtask(() => nextTick(fire));
}

/** A body under way, and the way to give up waiting for it. */
export interface Supervised<T> {
  readonly settled: Promise<T>;
  readonly abandon: (error: Error) => void;
}

/** Starts a body; `settled` follows it, or rejects once it is abandoned. */
export function supervise<T>(body: () => Promise<T>): Supervised<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const started = (async () => body())();
  started.then(resolve, reject);
  return { settled: promise, abandon: reject };
}
