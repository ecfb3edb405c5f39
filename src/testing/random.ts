import type { Random } from "../domain/random.ts";

/** A repeatable source of chance: the same seed gives the same sequence on every machine. */
export interface SeededRandom {
  /** A number in [0, 1), as `Math.random`. */
  readonly next: Random;
  /** A whole number in [0, `bound`). */
  readonly below: (bound: number) => number;
  /** One of the items. @throws RangeError when there are none. */
  readonly pick: <T>(items: readonly T[]) => T;
  /** A shuffled copy (Fisher-Yates). */
  readonly shuffle: <T>(items: readonly T[]) => T[];
}

/**
 * Makes a {@link SeededRandom} from a 32-bit seed, by sfc32 (Chris Doty-Humphrey's Small Fast Counting
 * generator, from PractRand). Not for secrets.
 *
 * @example
 * ```ts
 * const random = seededRandom(42);
 * random.below(6); // 1
 * random.shuffle(["paid", "refunded", "disputed"]); // ["refunded", "disputed", "paid"]
 * ```
 */
export function seededRandom(seed: number): SeededRandom {
  const next = sfc32(seed);
  const below = (bound: number): number => Math.floor(next() * bound);
  return {
    next,
    below,
    pick: (items) => {
      if (items.length === 0) throw new RangeError("Cannot pick: there are no items; give at least one");
      // The index is in range; the assertion keeps items that are themselves undefined.
      return items[below(items.length)] as (typeof items)[number];
    },
    shuffle: <T>(items: readonly T[]): T[] => {
      const shuffled = [...items];
      for (let last = shuffled.length - 1; last > 0; last -= 1) {
        const other = below(last + 1);
        [shuffled[last], shuffled[other]] = [shuffled[other] as T, shuffled[last] as T];
      }
      return shuffled;
    },
  };
}

function sfc32(seed: number): Random {
  let [a, b, c, counter] = [0, seed | 0, seed ^ 0x9e3779b9, 1];
  const step: Random = () => {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return (sum >>> 0) / 2 ** 32;
  };
  // Neighbouring seeds start alike; these rounds are the author's own way to part them.
  for (let round = 0; round < 15; round += 1) step();
  return step;
}
