/** Claims: what is due is leased, its fence raised and its attempt recorded, before anything is sent. */
import { type AttemptKind, isAbandoned, isHook, type ObligationState } from "../../domain/obligation.ts";
import { toObligation, toRequest, type ObligationRow, type RequestRow } from "../rows.ts";
import type { Claim, Lane, ObligationWrites } from "../store.ts";
import { deciding, lateEvidence } from "./answers.ts";
import type { Handle } from "./handle.ts";
import { obligationColumns, requestColumns } from "./rows.ts";
import { type Sql, sql } from "./statements.ts";

/** States whose due time is that of a call, and those whose due time is that of a hook; as the indexes have them. */
export const callsIn = "state NOT IN ('settling', 'withdrawn', 'cancelled')";
export const hooksIn = "state IN ('settling', 'withdrawn', 'cancelled')";

/**
 * What is due in lanes that call, or in those that run hooks. Each has a partial index of its own,
 * counterfoil_obligations_due and _hooks, used only by a statement that repeats the index's condition.
 */
function dueStatements(calls: boolean): { readonly nextLane: Sql; readonly inLane: Sql } {
  const due = `due_at IS NOT NULL AND ${calls ? callsIn : hooksIn}`;
  return {
    // One seek for each lane, whatever its length: the row found is the lane's earliest. A bound on all
    // three columns; on the first two alone, SQLite would walk the lane.
    nextLane: sql(
      calls ? "lane.next" : "lane.next.hooks",
      `SELECT effect, destination, due_at FROM counterfoil_obligations
       WHERE ${due} AND (effect, destination, due_at) > (?, ?, ${Number.MAX_SAFE_INTEGER})
       ORDER BY effect, destination, due_at LIMIT 1`,
    ),
    // In the index's order; the write lock of the transaction keeps others out.
    inLane: sql(
      calls ? "claim.due" : "claim.due.hooks",
      `SELECT ${obligationColumns}, ${requestColumns} FROM counterfoil_obligations AS o
       JOIN counterfoil_requests AS q ON q.obligation_id = o.id
       WHERE ${due} AND effect = ? AND destination = ? AND due_at <= ?
       ORDER BY due_at, o.id LIMIT +?`,
      { arrays: true },
    ),
  };
}

const calling = dueStatements(true);
const hooks = dueStatements(false);

const selectPaused = sql(
  "destination.paused",
  "SELECT 1 FROM counterfoil_destinations WHERE destination = ? AND paused_reason IS NOT NULL",
);

/** Lanes with something due, without those that call a paused destination. */
export function dueLanes(handle: Handle): Lane[] {
  const lanes = [...lanesOf(handle, calling.nextLane, true), ...lanesOf(handle, hooks.nextLane, false)];
  return lanes.filter((lane) => !isPaused(handle, lane));
}

function lanesOf(handle: Handle, nextLane: Sql, calls: boolean): Lane[] {
  const lanes: Lane[] = [];
  const next = handle.statement(nextLane);
  let lane: Lane = { effect: "", destination: "", calls };
  for (;;) {
    const row = next.get(lane.effect, lane.destination) as unknown as (Lane & { readonly due_at: number }) | undefined;
    if (!row) return lanes;
    lane = { effect: row.effect, destination: row.destination, calls };
    if (row.due_at <= handle.stamp.wallMs) lanes.push(lane);
  }
}

/** A hook runs from the stored answer and calls nobody: no pause concerns it. */
function isPaused(handle: Handle, { destination, calls }: Lane): boolean {
  return calls && handle.statement(selectPaused).get(destination) !== undefined;
}

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
  return lanes.flatMap(({ limit, ...lane }) => {
    if (isPaused(handle, lane)) return [];
    const due = handle.statement(lane.calls ? calling.inLane : hooks.inLane);
    const rows = due.all(lane.effect, lane.destination, handle.stamp.wallMs, limit);
    return rows.map((values) => claimRow(handle, toClaimRow(values as unknown as ClaimValues), { worker, leaseMs }));
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
  const late = fence > 1 && !isHook(kind) ? lateEvidence(handle, row.id) : undefined;
  return {
    obligation: { ...toObligation(row), fence, state, dueAt: null, updatedAt: wallMs },
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

/** A row's values, in the order of the columns that the statement names. */
type ClaimValues = Values<
  ClaimRow,
  [
    ...["id", "tenant", "operation_key", "effect", "destination", "connection", "account", "receipt_id", "state"],
    ...["reached", "fence", "generation", "tries", "lookups", "crashes", "created_at", "updated_at", "due_at"],
    ...["last_call_wall", "last_call_monotonic", "last_call_boot"],
    ...["key_since_wall", "key_since_monotonic", "key_since_boot", "reason"],
    ...["order_key", "not_before", "cancel_requested"],
    ...["method", "url", "content_type", "body", "request_digest", "input"],
  ]
>;

type Values<Row, Names extends readonly (keyof Row)[]> = { readonly [Place in keyof Names]: Row[Names[Place]] };

function toClaimRow(values: ClaimValues): ClaimRow {
  return {
    id: values[0],
    tenant: values[1],
    operation_key: values[2],
    effect: values[3],
    destination: values[4],
    connection: values[5],
    account: values[6],
    receipt_id: values[7],
    state: values[8],
    reached: values[9],
    fence: values[10],
    generation: values[11],
    tries: values[12],
    lookups: values[13],
    crashes: values[14],
    created_at: values[15],
    updated_at: values[16],
    due_at: values[17],
    last_call_wall: values[18],
    last_call_monotonic: values[19],
    last_call_boot: values[20],
    key_since_wall: values[21],
    key_since_monotonic: values[22],
    key_since_boot: values[23],
    reason: values[24],
    order_key: values[25],
    not_before: values[26],
    cancel_requested: values[27],
    method: values[28],
    url: values[29],
    content_type: values[30],
    body: values[31],
    request_digest: values[32],
    input: values[33],
  };
}

/** What a claim of an obligation in this state does. */
export function attemptKind(state: ObligationState): AttemptKind {
  if (state === "uncertain") return "lookup";
  if (isAbandoned(state)) return "abandon";
  return state === "settling" ? "settle" : "send";
}
