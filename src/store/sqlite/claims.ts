/** Claims: what is due is leased, its fence raised and its attempt recorded, before anything is sent. */
import type { AttemptKind, ObligationState } from "../../domain/obligation.ts";
import type { Claim, Lane, ObligationWrites } from "../store.ts";
import { deciding, lateEvidence } from "./answers.ts";
import type { Handle } from "./handle.ts";
import {
  obligationColumns,
  requestColumns,
  toObligation,
  toRequest,
  type ObligationRow,
  type RequestRow,
} from "./rows.ts";
import { sql } from "./statements.ts";

// Each kind of lane has a partial index of its own, counterfoil_obligations_due and _hooks, which a
// statement uses only where it repeats the index's condition.
const kinds = [
  { calls: true, state: "state <> 'settling'" },
  { calls: false, state: "state = 'settling'" },
] as const;

// One seek for each lane, whatever its length: the row found is the lane's earliest. A bound on all
// three columns; on the first two alone, SQLite would walk the lane.
const [nextCalls, nextHooks] = kinds.map(({ calls, state }) =>
  sql(
    calls ? "lane.next" : "lane.next.hooks",
    `SELECT effect, destination, due_at FROM counterfoil_obligations
     WHERE due_at IS NOT NULL AND ${state} AND (effect, destination, due_at) > (?, ?, ${Number.MAX_SAFE_INTEGER})
     ORDER BY effect, destination, due_at LIMIT 1`,
  ),
);

const selectPaused = sql(
  "destination.paused",
  "SELECT 1 FROM counterfoil_destinations WHERE destination = ? AND paused_reason IS NOT NULL",
);

/** Lanes with something due, without paused destinations. */
export function dueLanes(handle: Handle): Lane[] {
  const lanes: Lane[] = [];
  const next = handle.statement(nextLane);
  let lane: Lane = { effect: "", destination: "" };
  for (;;) {
    const row = next.get(lane.effect, lane.destination) as unknown as (Lane & { readonly due_at: number }) | undefined;
    if (!row) return lanes;
    lane = { effect: row.effect, destination: row.destination };
    if (row.due_at <= handle.stamp.wallMs && !isPaused(handle, lane.destination)) lanes.push(lane);
  }
}

function isPaused(handle: Handle, destination: string): boolean {
  return handle.statement(selectPaused).get(destination) !== undefined;
}

// Index counterfoil_obligations_due, in its order; the write lock of the transaction keeps others out.
const selectDue = sql(
  "claim.due",
  `SELECT ${obligationColumns}, ${requestColumns} FROM counterfoil_obligations AS o
   JOIN counterfoil_requests AS q ON q.obligation_id = o.id
   WHERE o.effect = ? AND o.destination = ? AND o.due_at IS NOT NULL AND o.due_at <= ?
   ORDER BY o.due_at, o.id LIMIT ?`,
);

const takeLease = sql(
  "claim.lease",
  `UPDATE counterfoil_obligations SET fence = ?, state = ?, due_at = NULL, updated_at = ?,
     lease_worker = ?, lease_boot = ?, lease_from = ?, lease_until = ?
   WHERE id = ?`,
);

const insertAttempt = sql(
  "attempt.insert",
  `INSERT INTO counterfoil_attempts (obligation_id, fence, kind, generation, worker, started_at, verdict)
   VALUES (?, ?, ?, ?, ?, ?, 'started')`,
);

type ClaimOptions = Parameters<ObligationWrites["claim"]>[0];

/** Claims what is due in each lane, oldest first. */
export function claimObligations(handle: Handle, { lanes, worker, leaseMs }: ClaimOptions): Claim[] {
  return lanes.flatMap(({ effect, destination, limit }) => {
    if (isPaused(handle, destination)) return [];
    const rows = handle.statement(selectDue).all(effect, destination, handle.stamp.wallMs, limit);
    return rows.map((row) => claimRow(handle, row as unknown as ClaimRow, { worker, leaseMs }));
  });
}

type ClaimRow = ObligationRow & RequestRow;

function claimRow(handle: Handle, row: ClaimRow, lease: { readonly worker: string; readonly leaseMs: number }): Claim {
  const { wallMs, monotonicMs, bootId } = handle.stamp;
  const { worker, leaseMs } = lease;
  const fence = row.fence + 1;
  const kind = attemptKind(row.state);
  const state = row.state === "owed" ? "sending" : row.state;
  handle.statement(takeLease).run(fence, state, wallMs, worker, bootId, monotonicMs, monotonicMs + leaseMs, row.id);
  handle.statement(insertAttempt).run(row.id, fence, kind, row.generation, worker, wallMs);
  // A first claim has nothing before it that could have learned an answer.
  const late = fence > 1 && kind !== "settle" ? lateEvidence(handle, row.id) : undefined;
  return {
    obligation: toObligation({ ...row, fence, state, due_at: null, updated_at: wallMs }),
    kind,
    fence,
    input: row.input,
    request: toRequest(row),
    requestDigest: row.request_digest,
    answer: kind === "settle" ? deciding(handle, row.id) : (late ?? null),
    evidence: late !== undefined,
    claimedAt: handle.stamp,
  };
}

/** What a claim of an obligation in this state does. */
export function attemptKind(state: ObligationState): AttemptKind {
  if (state === "uncertain") return "lookup";
  return state === "settling" ? "settle" : "send";
}
