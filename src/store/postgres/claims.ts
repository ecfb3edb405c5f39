/**
 * Claims: what is due is leased, its fence raised and its attempt recorded, before anything is sent.
 *
 * The row in `progress` is the record: it names worker, kind, fence and start of an attempt whose end
 * nobody has written. A row of the history is written once, when the attempt is let go of.
 */
import type { AttemptKind } from "../../domain/obligation.ts";
import { type ObligationRow, type RequestRow, toObligation, toRequest } from "../rows.ts";
import type { Claim, ObligationWrites } from "../store.ts";
import { decidingAnswer, lateEvidence } from "./answers.ts";
import type { Handle } from "./handle.ts";
import { callable } from "./lanes.ts";
import { relation } from "./relation.ts";
import { type AnswerRow, openColumns, requestColumns, toAnswer } from "./rows.ts";
import { sql } from "./statements.ts";

const lanesAsked = relation("l", { hook: "bool", effect: "text", destination: "text", most: "int8", since: "int8" }, 3);

// Index progress_due, in its order, from each lane's cursor on: rows that were claimed before it may be
// dead and still stand in the index for as long as somebody's snapshot sees them. Others' locks are
// passed by. The claimed rows are then found by primary key.
const claim = sql(
  "claim.due",
  `WITH lane AS MATERIALIZED (SELECT * FROM ${lanesAsked.from} WHERE ${callable("l")}),
   due AS MATERIALIZED (
     SELECT l.ord, p.obligation_id, p.due_at FROM lane AS l CROSS JOIN LATERAL (
       SELECT p.obligation_id, p.due_at FROM counterfoil.progress AS p
       WHERE p.hook = l.hook AND p.effect = l.effect AND p.destination = l.destination
         AND p.due_at >= l.since AND p.due_at <= $1
       ORDER BY p.due_at, p.obligation_id LIMIT l.most FOR UPDATE SKIP LOCKED) AS p),
   claimed AS (
     UPDATE counterfoil.progress AS p SET fence = p.fence + 1, due_at = NULL, updated_at = $1,
       state = CASE p.state WHEN 'owed' THEN 'sending' ELSE p.state END,
       lease_kind = CASE p.state
         WHEN 'uncertain' THEN 'lookup' WHEN 'settling' THEN 'settle'
         WHEN 'withdrawn' THEN 'abandon' WHEN 'cancelled' THEN 'abandon' ELSE 'send' END,
       lease_worker = $2, lease_from = $1, lease_until = $3
     FROM due WHERE p.obligation_id = due.obligation_id
     RETURNING p.*, due.ord, due.due_at AS was_due_at)
   SELECT ${openColumns}, p.lease_kind, p.was_due_at, p.ord::int AS ord, ${requestColumns},
     late.status AS late_status, late.body AS late_body, late.truncated AS late_truncated, late.found AS late,
     told.status, told.body AS told_body, told.truncated, told.found AS told
   FROM claimed AS p JOIN counterfoil.obligations AS o ON o.id = p.obligation_id
   JOIN counterfoil.requests AS q ON q.obligation_id = p.obligation_id
   LEFT JOIN LATERAL (
     SELECT true AS found, e.* FROM (${lateEvidence("p.obligation_id")}) AS e
     WHERE p.fence > 1 AND p.lease_kind IN ('send', 'lookup')) AS late ON true
   LEFT JOIN LATERAL (
     SELECT true AS found, e.* FROM (${decidingAnswer("p.obligation_id")}) AS e WHERE p.lease_kind = 'settle') AS told ON true
   ORDER BY p.ord, p.was_due_at, p.obligation_id`,
);

interface ClaimRow extends ObligationRow, RequestRow {
  readonly lease_kind: AttemptKind;
  readonly was_due_at: number;
  readonly ord: number;
  readonly late: true | null;
  readonly late_status: number | null;
  readonly late_body: Uint8Array | null;
  readonly late_truncated: boolean | null;
  readonly told: true | null;
  readonly told_body: Uint8Array | null;
  readonly status: AnswerRow["status"];
  readonly truncated: AnswerRow["truncated"];
}

type ClaimOptions = Parameters<ObligationWrites["claim"]>[0];

/** Claims what is due in each lane, oldest first. */
export async function claimObligations(handle: Handle, options: ClaimOptions): Promise<Claim[]> {
  const { lanes } = options;
  if (lanes.length === 0) return [];
  const starts = handle.cursors.starts(lanes);
  const asked = lanes.map((lane, index) => ({ lane, since: starts[index] ?? 0 }));
  const found = await claimFrom(handle, asked, options);
  // Nothing from the cursor on: there may be something before it.
  const empty = asked.filter(({ since }, index) => since > 0 && !found.some(({ ord }) => ord === index + 1));
  const more = await claimFrom(
    handle,
    empty.map(({ lane }) => ({ lane, since: 0 })),
    options,
  );
  return [...found, ...more].map((row) => toClaim(handle, row));
}

interface AskedLane {
  readonly lane: ClaimOptions["lanes"][number];
  readonly since: number;
}

async function claimFrom(
  handle: Handle,
  asked: readonly AskedLane[],
  { worker, leaseMs }: ClaimOptions,
): Promise<readonly ClaimRow[]> {
  if (asked.length === 0) return [];
  const now = handle.stamp.wallMs;
  const values = asked.map(({ lane: { effect, destination, calls, limit }, since }) => {
    return { hook: !calls, effect, destination, most: limit, since };
  });
  const rows = await handle.run<ClaimRow>(claim, [now, worker, now + leaseMs, ...lanesAsked.values(values)]);
  handle.afterCommit(() => {
    for (const { ord, was_due_at: dueAt } of rows) {
      const lane = asked[ord - 1]?.lane;
      if (lane) handle.cursors.claimed(lane, dueAt);
    }
  });
  return rows;
}

function toClaim(handle: Handle, row: ClaimRow): Claim {
  const { late_status: status, late_body: body, late_truncated: truncated } = row;
  const late = row.late ? toAnswer({ status, body, truncated }) : null;
  const told = row.told ? toAnswer({ status: row.status, body: row.told_body, truncated: row.truncated }) : null;
  return {
    obligation: toObligation(row),
    kind: row.lease_kind,
    fence: row.fence,
    input: row.input,
    request: toRequest(row),
    requestDigest: row.request_digest,
    answer: told ?? late,
    evidence: late !== null,
    claimedAt: handle.stamp,
  };
}
