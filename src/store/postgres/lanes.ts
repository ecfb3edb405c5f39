/** Lanes in `progress`: what one effect has to do at one destination, calls apart from hooks. */

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
