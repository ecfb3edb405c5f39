/** Lanes in `progress`: what one effect has to do at one destination, calls apart from hooks. */
import type { Lane } from "../store.ts";
import type { Handle } from "./handle.ts";
import type { LaneCursor } from "./lane-cursors.ts";
import { relation } from "./relation.ts";
import { sql } from "./statements.ts";

/**
 * Every lane with something that has a due time, with the earliest: for `WITH RECURSIVE`. Index
 * progress_due, one seek for each lane, whatever its length.
 */
export const laneWalk = `lane AS (
     (SELECT hook, effect, destination, due_at FROM counterfoil.progress WHERE due_at IS NOT NULL
      ORDER BY hook, effect, destination, due_at LIMIT 1)
     UNION ALL
     SELECT next.* FROM lane AS here CROSS JOIN LATERAL (
       SELECT p.hook, p.effect, p.destination, p.due_at FROM counterfoil.progress AS p
       WHERE p.due_at IS NOT NULL AND (p.hook, p.effect, p.destination) > (here.hook, here.effect, here.destination)
       ORDER BY p.hook, p.effect, p.destination, p.due_at LIMIT 1) AS next)`;

/** Nobody calls a destination that is paused; a hook runs from the stored answer and calls nobody. */
export function callable(lane: string): string {
  return `(${lane}.hook OR NOT EXISTS (
    SELECT FROM counterfoil.destinations AS d WHERE d.destination = ${lane}.destination AND d.paused_reason IS NOT NULL))`;
}

const walk = sql(
  "lane.walk",
  `WITH RECURSIVE ${laneWalk}
   SELECT l.hook, l.effect, l.destination, l.due_at <= $1 AND ${callable("l")} AS due, false AS unknown FROM lane AS l
   ORDER BY l.hook, l.effect, l.destination`,
);

const remembered = relation(
  "k",
  {
    hook: "bool",
    effect: "text",
    destination: "text",
    since: "int8",
    next_hook: "bool",
    next_effect: "text",
    next_destination: "text",
  },
  1,
);

/** The first row of a lane that is due, from some due time on. */
function firstDue(since: string): string {
  return `(SELECT true FROM counterfoil.progress AS p
     WHERE p.hook = k.hook AND p.effect = k.effect AND p.destination = k.destination
       AND p.due_at >= ${since} AND p.due_at <= $1 ORDER BY p.due_at, p.obligation_id LIMIT 1)`;
}

// Index progress_due: each lane from its cursor on, and the gaps between lanes, where others may be. Not by EXISTS:
// the server forgets its order, and may go through the whole table for a row that is not there.
const look = sql(
  "lane.look",
  `SELECT k.hook, k.effect, k.destination,
     coalesce(${firstDue("k.since")}, ${firstDue("0")}, false) AND ${callable("k")} AS due,
     coalesce((
       SELECT true FROM counterfoil.progress AS p
       WHERE p.due_at IS NOT NULL AND (p.hook, p.effect, p.destination) > (k.hook, k.effect, k.destination)
         AND (p.hook, p.effect, p.destination) < (k.next_hook, k.next_effect, k.next_destination)
       ORDER BY p.hook, p.effect, p.destination, p.due_at LIMIT 1), false) AS unknown
   FROM ${remembered.from} ORDER BY k.ord`,
);

interface LaneRow {
  readonly hook: boolean;
  readonly effect: string;
  readonly destination: string;
  readonly due: boolean;
  /** There is a lane behind this one that is not remembered. */
  readonly unknown: boolean;
}

/** Lanes with something due, without those that call a paused destination. */
export async function dueLanes(handle: Handle): Promise<Lane[]> {
  const known = handle.cursors.remembered();
  const rows = known && (await handle.run<LaneRow>(look, [handle.stamp.wallMs, ...remembered.values(gaps(known))]));
  if (rows && !rows.some(({ unknown }) => unknown)) return rows.filter(({ due }) => due).map(toLane);
  const walked = await handle.run<LaneRow>(walk, [handle.stamp.wallMs]);
  handle.cursors.learn(walked.map(toLane));
  return walked.filter(({ due }) => due).map(toLane);
}

/** Before every lane, and behind every lane: no name of an effect is empty, and no text sorts after the last code point. */
const first = { hook: false, effect: "", destination: "" };
const last = { hook: true, effect: "\u{10FFFF}", destination: "" };

/** Each lane with the one that follows it, the space before the first included. */
function gaps(known: readonly LaneCursor[]): Parameters<typeof remembered.values>[0] {
  const lanes = known.map(({ calls, ...lane }) => ({ ...lane, hook: !calls }));
  return [{ ...first, since: 0 }, ...lanes].map((lane, index) => {
    const { hook, effect, destination } = lanes[index] ?? last;
    return { ...lane, next_hook: hook, next_effect: effect, next_destination: destination };
  });
}

function toLane({ hook, effect, destination }: LaneRow): Lane {
  return { effect, destination, calls: !hook };
}
