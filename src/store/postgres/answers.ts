/** Stored answers: what attempts were told, and what decided an obligation. */
import type { StoredAnswer } from "../../domain/obligation.ts";
import type { Handle } from "./handle.ts";
import { type AnswerRow, toAnswer } from "./rows.ts";
import { sql } from "./statements.ts";

/** The fence under which an answer stands that no attempt of a holder was told: a lookup's find, an operator's word. */
export const givenFence = 0;

/**
 * What the newest attempt that ended `done` was told, for an obligation's id; an attempt that kept no body
 * still counts, and a hook that ran is no answer of the provider. Primary key of the attempts.
 */
export function lateEvidence(id: string): string {
  return `SELECT coalesce(w.status, a.status) AS status, w.body, w.truncated FROM counterfoil.attempts AS a
    LEFT JOIN counterfoil.answers AS w ON w.obligation_id = a.obligation_id AND w.fence = a.fence
    WHERE a.obligation_id = ${id} AND a.verdict = 'done' AND a.kind <> 'settle' ORDER BY a.fence DESC LIMIT 1`;
}

/** The answer that decided: a given one, else what an attempt that ended `done` was told. */
export function decidingAnswer(id: string): string {
  return `(SELECT status, body, truncated FROM counterfoil.answers WHERE obligation_id = ${id} AND fence = ${givenFence})
    UNION ALL (${lateEvidence(id)}) LIMIT 1`;
}

const selectEvidence = sql(
  "answer.evidence",
  `SELECT asked.id, told.* FROM unnest($1::int8[]) AS asked (id) CROSS JOIN LATERAL (${lateEvidence("asked.id")}) AS told`,
);

/** Which of these obligations have an attempt that ended `done`. */
export async function evidence(handle: Handle, ids: readonly number[]): Promise<Map<number, StoredAnswer>> {
  if (ids.length === 0) return new Map();
  const rows = await handle.run<AnswerRow & { readonly id: number }>(selectEvidence, [ids]);
  return new Map(rows.map((row) => [row.id, toAnswer(row)]));
}
