/**
 * Steps of obligations under their fence, and leases.
 *
 * The lease is held until a monotonic reading of the boot it was taken in. It has ended when that
 * reading has come, when the machine has another boot id, or when the clock reads earlier than the
 * lease's start: monotonic time began anew, which shows a reboot where no boot id is to be had.
 */
import type { AttemptEnd, AttemptKind } from "../../domain/obligation.ts";
import { holdsUp } from "../order-states.ts";
import { toObligation, type ObligationRow } from "../rows.ts";
import type { ExpiredLease, Move } from "../store.ts";
import { givenFence, storeAnswer } from "./answers.ts";
import { freeNext, holdBackLater } from "./effect-orders.ts";
import type { Handle } from "./handle.ts";
import { obligationColumns } from "./rows.ts";
import { sql } from "./statements.ts";

// By primary key, under the fence: the compare and the set are one statement.
function moveText(lease: string): string {
  return `UPDATE counterfoil_obligations SET state = ?, reached = ?, generation = ?, tries = ?, lookups = ?, crashes = ?,
     key_since_wall = ?, key_since_monotonic = ?, key_since_boot = ?, last_call_wall = ?, last_call_monotonic = ?,
     last_call_boot = ?, due_at = ?, reason = ?, updated_at = ?, fence = fence + ?${lease}
   WHERE id = ? AND fence = ? RETURNING order_key`;
}

const writeMove = sql(
  "obligation.move",
  moveText(", lease_worker = NULL, lease_boot = NULL, lease_from = NULL, lease_until = NULL"),
);
const writeMoveKeepingLease = sql("obligation.move-on", moveText(""));

/** Moves each obligation whose fence is still the one named; the ends of attempts are kept in any case. */
export function moveObligations(handle: Handle, moves: readonly Move[]): boolean[] {
  return moves.map((move) => {
    if (move.attempt) endAttempt(handle, move, move.attempt);
    const { state, reached, generation, keySince, tries, lookups, crashes, lastCallEndedAt, dueAt, reason } = move.to;
    const written = handle
      .statement(move.keepLease ? writeMoveKeepingLease : writeMove)
      .get(
        state,
        reached,
        generation,
        tries,
        lookups,
        crashes,
        keySince?.wallMs ?? null,
        keySince?.monotonicMs ?? null,
        keySince?.bootId ?? null,
        lastCallEndedAt?.wallMs ?? null,
        lastCallEndedAt?.monotonicMs ?? null,
        lastCallEndedAt?.bootId ?? null,
        dueAt,
        reason,
        handle.stamp.wallMs,
        move.raiseFence ? 1 : 0,
        move.obligationId,
        move.fence,
      );
    if (written === undefined) return false;
    const orderKey = written["order_key"] as string | null;
    if (orderKey !== null && !holdsUp(state)) freeNext(handle, orderKey);
    if (orderKey !== null && state === "owed") holdBackLater(handle, move.obligationId, orderKey);
    if (move.answer) storeAnswer(handle, move.obligationId, { fence: givenFence, answer: move.answer });
    return true;
  });
}

// What the holder says of its own attempt replaces what others presumed when they found it dead.
const writeEnd = sql(
  "attempt.end",
  `UPDATE counterfoil_attempts SET ended_at = ?, verdict = ?, phase = ?, status = ?, cause = ?
   WHERE obligation_id = ? AND fence = ? AND (verdict = 'started' OR (verdict = 'crashed' AND ?))`,
);

function endAttempt(handle: Handle, { obligationId, fence, raiseFence }: Move, end: AttemptEnd): void {
  const written = handle
    .statement(writeEnd)
    .run(handle.stamp.wallMs, end.verdict, end.phase, end.status, end.cause, obligationId, fence, raiseFence ? 0 : 1);
  if (written.changes === 1 && end.answer) storeAnswer(handle, obligationId, { fence, answer: end.answer });
}

export const liveLease = "lease_boot = ?1 AND lease_from <= ?2 AND lease_until > ?2";

const renewLease = sql(
  "lease.renew",
  `UPDATE counterfoil_obligations SET lease_until = ?3 WHERE id = ?4 AND fence = ?5 AND ${liveLease}`,
);

/** Renews leases that have not ended. */
export function renewLeases(
  handle: Handle,
  held: readonly { readonly obligationId: number; readonly fence: number }[],
  leaseMs: number,
): boolean[] {
  const { bootId, monotonicMs } = handle.stamp;
  return held.map(({ obligationId, fence }) => {
    const renewed = handle.statement(renewLease).run(bootId, monotonicMs, monotonicMs + leaseMs, obligationId, fence);
    return renewed.changes === 1;
  });
}

// Index counterfoil_obligations_leased, which holds only what is leased: few rows at any time.
const selectExpired = sql(
  "lease.expired",
  `SELECT ${obligationColumns}, a.kind, a.started_at, o.lease_from, o.lease_boot FROM counterfoil_obligations AS o
   JOIN counterfoil_attempts AS a ON a.obligation_id = o.id AND a.fence = o.fence
   WHERE o.lease_boot IS NOT NULL AND NOT (${liveLease}) ORDER BY o.lease_until LIMIT +?3`,
);

interface ExpiredRow extends ObligationRow {
  readonly kind: AttemptKind;
  readonly started_at: number;
  readonly lease_from: number;
  readonly lease_boot: string;
}

/** Obligations whose lease has ended, with what their holder was doing. */
export function expiredLeases(handle: Handle, limit: number): ExpiredLease[] {
  const { bootId, monotonicMs } = handle.stamp;
  const rows = handle.statement(selectExpired).all(bootId, monotonicMs, limit);
  return rows.map((row) => {
    const expired = row as unknown as ExpiredRow;
    const { kind, started_at: wallMs, lease_from: monotonicMs, lease_boot: leaseBoot } = expired;
    return { obligation: toObligation(expired), kind, claimedAt: { wallMs, monotonicMs, bootId: leaseBoot } };
  });
}
