/**
 * How much may run at once in this process: in all, to one destination, and of one effect to it. What is
 * free is shared among lanes, so that a destination that hangs holds its own share and no more. Hooks have
 * the same bounds, counted apart: they do not wait for calls to where they once went.
 */
import type { Lane } from "../store/store.ts";

/** Bounds of what runs at once. */
export interface SlotLimits {
  readonly callsMax: number;
  readonly claimMax: number;
  /** Calls of one effect to one destination. */
  readonly perLane: (effect: string) => number;
  readonly perDestination: number;
  /** A narrower bound for a destination at this moment. */
  readonly callsMaxAt?: (destination: string) => number;
  /** Calls that may begin in a lane at this moment. */
  readonly rateLeft?: (lane: Lane) => number;
}

export type SharedLane = Lane & { readonly limit: number };

export class Slots {
  readonly #limits: SlotLimits;
  readonly #lanes: Map<string, number> = new Map();
  readonly #places: Map<string, number> = new Map();
  #busy = 0;
  #turn = 0;

  constructor(limits: SlotLimits) {
    this.#limits = limits;
  }

  get busy(): number {
    return this.#busy;
  }

  take(lane: Lane): void {
    this.#count(lane, 1);
  }

  /** What one transaction ends gives its slots to what the same claims. */
  pass(ended: readonly SharedLane[], claimed: readonly Lane[]): void {
    for (const lane of ended) this.#count(lane, -lane.limit);
    for (const lane of claimed) this.#count(lane, 1);
  }

  /** That transaction was not committed. */
  passBack(ended: readonly SharedLane[], claimed: readonly Lane[]): void {
    for (const lane of ended) this.#count(lane, lane.limit);
    for (const lane of claimed) this.#count(lane, -1);
  }

  free(lane: Lane): void {
    this.#count(lane, -1);
  }

  /**
   * Shares what is free among lanes that have something due. Lanes take turns at being served first, and
   * each gets an equal part before any gets more. `ending` says how many slots the same transaction frees.
   */
  share(lanes: readonly Lane[], ending: readonly SharedLane[] = []): readonly SharedLane[] {
    for (const lane of ending) this.#count(lane, -lane.limit);
    try {
      return this.#share(lanes);
    } finally {
      // Only for the sum: a slot is truly free once its end is committed.
      for (const lane of ending) this.#count(lane, lane.limit);
    }
  }

  /** Whether anything is free for one of these lanes. */
  hasRoom(lanes: readonly Lane[]): boolean {
    return this.#busy < this.#limits.callsMax && lanes.some((lane) => this.#roomOf(lane) > 0 && this.#roomAt(lane) > 0);
  }

  #share(lanes: readonly Lane[]): readonly SharedLane[] {
    const { callsMax, claimMax } = this.#limits;
    const shares = new Map(this.#inTurn(lanes).map((lane) => [lane, 0]));
    const given = new Map<string, number>();
    let left = Math.min(claimMax, callsMax - this.#busy);
    for (let part = Math.max(1, Math.floor(left / lanes.length)); left > 0; part = left) {
      const before = left;
      for (const [lane, share] of shares) {
        const there = this.#roomAt(lane) - (given.get(placeOf(lane)) ?? 0);
        const more = Math.max(0, Math.min(part, left, there, this.#roomOf(lane) - share));
        shares.set(lane, share + more);
        add(given, placeOf(lane), more);
        left -= more;
      }
      if (left === before) break;
    }
    return [...shares].filter(([, limit]) => limit > 0).map(([lane, limit]) => ({ ...lane, limit }));
  }

  #roomOf(lane: Lane): number {
    const { perLane, rateLeft = unbounded } = this.#limits;
    return Math.min(perLane(lane.effect) - (this.#lanes.get(nameOf(lane)) ?? 0), rateLeft(lane));
  }

  /** An effect that may have more calls to a destination than is usual widens the bound there, for itself. */
  #roomAt(lane: Lane): number {
    const { perDestination, perLane, callsMaxAt = unbounded } = this.#limits;
    const most = lane.calls ? callsMaxAt(lane.destination) : Number.POSITIVE_INFINITY;
    return Math.min(most, Math.max(perDestination, perLane(lane.effect))) - (this.#places.get(placeOf(lane)) ?? 0);
  }

  #inTurn(lanes: readonly Lane[]): readonly Lane[] {
    if (lanes.length === 0) return lanes;
    this.#turn = (this.#turn + 1) % lanes.length;
    return [...lanes.slice(this.#turn), ...lanes.slice(0, this.#turn)];
  }

  #count(lane: Lane, by: number): void {
    this.#busy += by;
    add(this.#lanes, nameOf(lane), by);
    add(this.#places, placeOf(lane), by);
  }
}

function unbounded(): number {
  return Number.POSITIVE_INFINITY;
}

function nameOf(lane: Lane): string {
  return `${lane.effect} ${placeOf(lane)}`;
}

/** Where a lane's work counts: at its destination, or among the hooks of it. */
function placeOf({ destination, calls }: Lane): string {
  return calls ? destination : `${destination} hooks`;
}

function add(counts: Map<string, number>, name: string, by: number): void {
  const count = (counts.get(name) ?? 0) + by;
  if (count === 0) counts.delete(name);
  else counts.set(name, count);
}
