/**
 * Steps of obligations under their fence.
 *
 * A move locks the obligation's row in `progress` by id and fence, in the order of the ids, and then
 * writes everything from what it holds: the end of the attempt into the history, the answer, and the
 * progress itself, which leaves `progress` for `obligations` once it is done. A move whose row was not
 * found is looked at once more, in a statement that sees what was committed meanwhile: it may be late
 * evidence, or about an obligation that is done.
 */
import type { Progress, StoredAnswer } from "../../domain/obligation.ts";
import { holdsUp } from "../order-states.ts";
import type { Move } from "../store.ts";
import { givenFence } from "./answers.ts";
import { freeNext, holdBackLater, lockEffectOrders } from "./effect-orders.ts";
import type { Handle } from "./handle.ts";
import { relation } from "./relation.ts";
import { rounds } from "./rounds.ts";
import { sql } from "./statements.ts";
import { plain } from "./values.ts";

const step = {
  state: "text",
  reached: "text",
  generation: "int8",
  tries: "int8",
  lookups: "int8",
  crashes: "int8",
  key_since_wall: "int8",
  key_since_monotonic: "int8",
  key_since_boot: "text",
  last_call_wall: "int8",
  last_call_monotonic: "int8",
  last_call_boot: "text",
  due_at: "int8",
  reason: "text",
} as const;

const moves = relation(
  "g",
  {
    id: "int8",
    fence: "int8",
    ...step,
    next_fence: "int8",
    keeps_lease: "bool",
    by_holder: "bool",
    leaves: "bool",
    verdict: "text",
    phase: "text",
    status: "int8",
    cause: "text",
    told_status: "int8",
    told_body: "bytea",
    told_truncated: "bool",
    given_status: "int8",
    given_body: "bytea",
    given_truncated: "bool",
  },
  1,
);

type MoveRow = Parameters<typeof moves.values>[0][number];

/** What an obligation keeps of its last step once it is done, when nothing is due any more. */
const stepNames = Object.keys(step).filter((name) => name !== "due_at");

/** Keeps what ended attempts were told, and what was given for moves that were made. */
function keepAnswers(moved: string): string {
  return `INSERT INTO counterfoil.answers (obligation_id, fence, status, body, truncated)
   SELECT g.id, g.fence, g.told_status, g.told_body, g.told_truncated
     FROM given AS g JOIN ended AS e ON e.obligation_id = g.id AND e.fence = g.fence WHERE g.told_body IS NOT NULL
   UNION ALL
   SELECT g.id, ${givenFence}, g.given_status, g.given_body, g.given_truncated
     FROM given AS g JOIN ${moved} USING (id) WHERE g.given_body IS NOT NULL
   ON CONFLICT (obligation_id, fence) DO UPDATE
   SET status = excluded.status, body = excluded.body, truncated = excluded.truncated`;
}

// By primary key and fence: the compare and the set are one statement.
const move = sql(
  "obligation.move",
  `WITH given AS MATERIALIZED (SELECT * FROM ${moves.from}),
   held AS MATERIALIZED (
     SELECT g.*, p.generation AS held_generation, p.lease_worker, p.lease_kind, p.lease_from, p.order_key
     FROM given AS g JOIN counterfoil.progress AS p ON p.obligation_id = g.id AND p.fence = g.fence
     ORDER BY p.obligation_id FOR UPDATE OF p),
   ended AS (
     INSERT INTO counterfoil.attempts AS a (obligation_id, fence, kind, generation, worker, started_at, ended_at,
       verdict, phase, status, cause)
     SELECT h.id, h.fence, h.lease_kind, h.held_generation, h.lease_worker, h.lease_from,
       CASE WHEN h.verdict IS NOT NULL THEN $1::bigint END, coalesce(h.verdict, 'started'), h.phase, h.status, h.cause
     FROM held AS h
     WHERE h.lease_worker IS NOT NULL AND (h.verdict IS NOT NULL OR NOT h.keeps_lease)
     ON CONFLICT (obligation_id, fence) DO UPDATE
     SET ended_at = excluded.ended_at, verdict = excluded.verdict, phase = excluded.phase, status = excluded.status,
       cause = excluded.cause
     WHERE a.verdict = 'started' AND excluded.verdict <> 'started'
     RETURNING obligation_id, fence),
   answered AS (${keepAnswers("held")}),
   stays AS (
     UPDATE counterfoil.progress AS p SET ${assign((name) => `h.${name}`)}, due_at = h.due_at, updated_at = $1,
       fence = h.next_fence,
       lease_worker = CASE WHEN h.keeps_lease THEN p.lease_worker END,
       lease_kind = CASE WHEN h.keeps_lease THEN p.lease_kind END,
       lease_from = CASE WHEN h.keeps_lease THEN p.lease_from END,
       lease_until = CASE WHEN h.keeps_lease THEN p.lease_until END
     FROM held AS h WHERE p.obligation_id = h.id AND NOT h.leaves),
   leaves AS (
     DELETE FROM counterfoil.progress AS p USING held AS h WHERE p.obligation_id = h.id AND h.leaves),
   done AS (
     UPDATE counterfoil.obligations AS o SET ${assign((name) => `h.${name}`)}, updated_at = $1, fence = h.next_fence
     FROM held AS h WHERE o.id = h.id AND h.leaves)
   SELECT id, lease_worker IS NOT NULL AS leased, order_key FROM held`,
);

// What the holder says of its own attempt replaces what others presumed when they found it dead. An
// obligation that is done moves by its fence as well; one that is done no more goes back to progress.
const moveLate = sql(
  "obligation.move-late",
  `WITH given AS MATERIALIZED (SELECT * FROM ${moves.from}),
   ended AS (
     UPDATE counterfoil.attempts AS a SET ended_at = $1, verdict = g.verdict, phase = g.phase, status = g.status,
       cause = g.cause
     FROM given AS g
     WHERE a.obligation_id = g.id AND a.fence = g.fence AND g.verdict IS NOT NULL
       AND (a.verdict = 'started' OR (a.verdict = 'crashed' AND g.by_holder))
     RETURNING a.obligation_id, a.fence),
   moved AS (
     UPDATE counterfoil.obligations AS o SET ${assign((name) => `CASE WHEN g.leaves THEN g.${name} END`)},
       updated_at = CASE WHEN g.leaves THEN $1::bigint END, fence = CASE WHEN g.leaves THEN g.next_fence END
     FROM given AS g WHERE o.id = g.id AND o.fence = g.fence
     RETURNING o.id, o.effect, o.destination, o.order_key, o.not_before),
   reopened AS (
     INSERT INTO counterfoil.progress (obligation_id, effect, destination, order_key, not_before, ${stepNames.join(", ")}, due_at, updated_at,
       fence)
     SELECT g.id, m.effect, m.destination, m.order_key, m.not_before, ${stepNames.map((name) => `g.${name}`).join(", ")}, g.due_at, $1, g.next_fence
     FROM given AS g JOIN moved AS m USING (id) WHERE NOT g.leaves),
   answered AS (${keepAnswers("moved")})
   SELECT id FROM moved`,
);

/** Moves each obligation whose fence is still the one named; the ends of attempts are kept in any case. */
export async function moveObligations(handle: Handle, given: readonly Move[]): Promise<boolean[]> {
  if (given.some(({ to }) => to.dueAt !== null && to.dueAt <= handle.stamp.wallMs)) handle.say({ owed: true });
  const results: boolean[] = [];
  for (const round of rounds(given, ({ obligationId }) => obligationId)) {
    const moved = await moveRound(handle, round);
    results.push(...round.map(({ obligationId }) => moved.has(obligationId)));
  }
  return results;
}

/** Gives the ids of those that were moved. */
async function moveRound(handle: Handle, round: readonly Move[]): Promise<ReadonlySet<number>> {
  const run = <Row>(statement: typeof move, part: readonly Move[]): Promise<readonly Row[]> =>
    handle.run<Row>(statement, [handle.stamp.wallMs, ...moves.values(part.map(toRow))]);
  const rows = await run<HeldRow>(move, round);
  const held = new Map(rows.map(({ id, leased }) => [id, leased]));
  await keepOrder(handle, round, rows);
  const late = round.filter(({ obligationId: id, attempt }) => !held.has(id) || (attempt && !held.get(id)));
  const done = late.length > 0 ? await run<{ readonly id: number }>(moveLate, late) : [];
  return new Set([...held.keys(), ...done.map(({ id }) => id)]);
}

interface HeldRow {
  readonly id: number;
  readonly leased: boolean;
  readonly order_key: string | null;
}

/**
 * Where one of an order key holds nothing up any more, the next is due; where one is owed again, it waits
 * for what is before it.
 */
async function keepOrder(handle: Handle, round: readonly Move[], moved: readonly HeldRow[]): Promise<void> {
  const orderKeys = new Map(moved.map(({ id, order_key: orderKey }) => [id, orderKey]));
  const ordered = round.flatMap(({ obligationId: id, to: { state } }) => {
    const orderKey = orderKeys.get(id) ?? null;
    return orderKey === null || (holdsUp(state) && state !== "owed") ? [] : [{ id, orderKey, owed: state === "owed" }];
  });
  if (ordered.length === 0) return;
  const keys = (those: typeof ordered): string[] => those.map(({ orderKey }) => orderKey);
  await lockEffectOrders(handle, keys(ordered));
  const owed = ordered.filter((one) => one.owed);
  await holdBackLater(
    handle,
    owed.map(({ id }) => id),
  );
  await freeNext(handle, keys(ordered.filter((one) => !one.owed)));
}

function assign(value: (name: string) => string): string {
  return stepNames.map((name) => `${name} = ${value(name)}`).join(", ");
}

function toRow(given: Move): MoveRow {
  const { to, attempt, keepLease, raiseFence } = given;
  return {
    ...stepRow(to),
    id: given.obligationId,
    fence: given.fence,
    next_fence: given.fence + (raiseFence ? 1 : 0),
    keeps_lease: keepLease,
    by_holder: !raiseFence,
    leaves: to.state === "done" && to.dueAt === null && !keepLease,
    verdict: attempt?.verdict ?? null,
    phase: attempt?.phase ?? null,
    status: attempt?.status ?? null,
    cause: plain(attempt?.cause ?? null),
    ...answerRow("told", attempt?.answer),
    ...answerRow("given", given.answer),
  } as MoveRow;
}

function stepRow(to: Progress): Pick<MoveRow, keyof typeof step> {
  return {
    state: to.state,
    reached: to.reached,
    generation: to.generation,
    tries: to.tries,
    lookups: to.lookups,
    crashes: to.crashes,
    key_since_wall: to.keySince?.wallMs ?? null,
    key_since_monotonic: to.keySince?.monotonicMs ?? null,
    key_since_boot: to.keySince?.bootId ?? null,
    last_call_wall: to.lastCallEndedAt?.wallMs ?? null,
    last_call_monotonic: to.lastCallEndedAt?.monotonicMs ?? null,
    last_call_boot: to.lastCallEndedAt?.bootId ?? null,
    due_at: to.dueAt,
    reason: plain(to.reason),
  };
}

function answerRow(name: "told" | "given", answer: StoredAnswer | null | undefined): Record<string, unknown> {
  const { status = null, body = null, truncated = null } = answer ?? {};
  return { [`${name}_status`]: status, [`${name}_body`]: body, [`${name}_truncated`]: truncated };
}
