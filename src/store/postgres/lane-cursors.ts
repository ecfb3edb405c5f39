/**
 * What a process remembers of lanes, so that it need not step over what it claimed before.
 *
 * A claimed row leaves an entry in the index, which the server can only pass by for as long as any
 * snapshot, such as a long report's or a backup's, may still see it. A lane is therefore read from a
 * second before what was last claimed in it, and from its start where that gives nothing, and once in a
 * while: rows may become due behind the cursor, such as those of a transaction that took long to commit.
 * The memory is a hint: forgetting it costs time and nothing else.
 */
import type { Lane } from "../store.ts";

/** How far behind the last claim a lane is read. */
const behindMs = 1_000;

/** Every so many claims and looks, all is read from its start. */
const wholeEvery = 200;

/** More lanes than this are not remembered: they are walked each time. */
const lanesMax = 200;

/** A lane, and the due time from which on it is read. */
export interface LaneCursor extends Lane {
  readonly since: number;
}

export class LaneCursors {
  readonly #lanes: Map<string, LaneCursor> = new Map();
  #claims = 0;
  #looks = 0;

  /** The lanes to look at, in the order of the index; `undefined` where all are to be walked. */
  remembered(): readonly LaneCursor[] | undefined {
    this.#looks += 1;
    if (this.#lanes.size === 0 || this.#looks % wholeEvery === 0) return undefined;
    return [...this.#lanes.values()];
  }

  /** Remembers the lanes that there are, in the order of the index, and no others. */
  learn(lanes: readonly Lane[]): void {
    const known = lanes.length > lanesMax ? [] : lanes.map((lane) => ({ ...lane, since: this.#since(lane) }));
    this.#lanes.clear();
    for (const lane of known) this.#lanes.set(keyOf(lane), lane);
  }

  /** Where claims in these lanes begin. */
  starts(lanes: readonly Lane[]): number[] {
    this.#claims += 1;
    return lanes.map((lane) => (this.#claims % wholeEvery === 0 ? 0 : this.#since(lane)));
  }

  /** The latest due time that was claimed in a lane, once it is committed. */
  claimed(lane: Lane, dueAt: number): void {
    const key = keyOf(lane);
    const known = this.#lanes.get(key);
    if (known) this.#lanes.set(key, { ...known, since: dueAt - behindMs });
  }

  #since(lane: Lane): number {
    return this.#lanes.get(keyOf(lane))?.since ?? 0;
  }
}

function keyOf({ effect, destination, calls }: Lane): string {
  return JSON.stringify([calls, effect, destination]);
}
