import { setTimeout } from "node:timers/promises";

/** Settings of {@link eventually}. */
export interface EventuallyOptions {
  /** How long the condition may take to come true. Default 20 000 ms: slow machines are not failures. */
  readonly withinMs?: number;
  /** What is awaited, for the error message. */
  readonly what?: string;
}

const pollMs = 10;

/**
 * Polls until `check` gives something truthy, and gives that. A check that throws (a failed assertion)
 * counts as not yet.
 *
 * @throws Error when the time is up; its cause is what the last check threw.
 * @example
 * ```ts
 * const ready = Promise.withResolvers<string>();
 * const states: string[] = [];
 * void ready.promise.then((state) => states.push(state));
 * ready.resolve("settled");
 * await eventually(() => states.at(-1)); // "settled"
 * ```
 */
export async function eventually<T>(
  check: () => T | Promise<T>,
  { withinMs = 20_000, what = "the condition" }: EventuallyOptions = {},
): Promise<Exclude<T, undefined | null | false | 0 | "">> {
  const deadlineMs = performance.now() + withinMs;
  for (;;) {
    // The deadline is read before the check, so that a check made after it is the last one.
    const last = performance.now() >= deadlineMs;
    let cause: unknown;
    try {
      const value = await check();
      if (value) return value as Exclude<T, undefined | null | false | 0 | "">;
    } catch (error) {
      cause = error;
    }
    if (last) throw new Error(`Cannot go on: ${what} did not come true within ${withinMs} ms`, { cause });
    await setTimeout(pollMs);
  }
}
