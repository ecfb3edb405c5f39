/** Stored answers: what attempts were told, and what decided an obligation. */
import type { StoredAnswer } from "../../domain/obligation.ts";
import type { Handle } from "./handle.ts";
import { toAnswer, type AnswerRow } from "./rows.ts";
import { type Sql, sql } from "./statements.ts";

/** The fence under which an answer stands that no attempt of a holder was told: a lookup's find, an operator's word. */
export const givenFence = 0;

const insertAnswer = sql(
  "answer.insert",
  `INSERT INTO counterfoil_answers (obligation_id, fence, status, body, truncated) VALUES (?, ?, ?, ?, ?)
   ON CONFLICT (obligation_id, fence) DO UPDATE
   SET status = excluded.status, body = excluded.body, truncated = excluded.truncated`,
);

export function storeAnswer(
  handle: Handle,
  id: number,
  { fence, answer }: { readonly fence: number; readonly answer: StoredAnswer },
): void {
  handle.statement(insertAnswer).run(id, fence, answer.status, answer.body, answer.truncated ? 1 : 0);
}

/** Primary key of the attempts, newest first. A hook that ran is no answer of the provider. */
export const selectEvidence: Sql = sql(
  "answer.evidence",
  `SELECT coalesce(w.status, a.status) AS status, w.body, w.truncated
   FROM counterfoil_attempts AS a
   LEFT JOIN counterfoil_answers AS w ON w.obligation_id = a.obligation_id AND w.fence = a.fence
   WHERE a.obligation_id = ? AND a.verdict = 'done' AND a.kind <> 'settle' ORDER BY a.fence DESC LIMIT 1`,
);

/** What the newest attempt that ended `done` was told; an attempt that kept no body still counts. */
export function lateEvidence(handle: Pick<Handle, "statement">, id: number): StoredAnswer | undefined {
  const row = handle.statement(selectEvidence).get(id);
  return row && toAnswer(row as unknown as AnswerRow);
}

const selectGiven = sql(
  "answer.given",
  `SELECT status, body, truncated FROM counterfoil_answers WHERE obligation_id = ? AND fence = ${givenFence}`,
);

/** The answer that decided: a given one, else what an attempt that ended `done` was told. */
export function deciding(handle: Pick<Handle, "statement">, id: number): StoredAnswer | null {
  const given = handle.statement(selectGiven).get(id);
  return given ? toAnswer(given as unknown as AnswerRow) : (lateEvidence(handle, id) ?? null);
}

// Primary key of the answers, newest first.
const selectRefusal = sql(
  "answer.refusal",
  `SELECT w.status, w.body, w.truncated FROM counterfoil_answers AS w
   JOIN counterfoil_attempts AS a ON a.obligation_id = w.obligation_id AND a.fence = w.fence
   WHERE w.obligation_id = ? AND a.verdict <> 'done' ORDER BY w.fence DESC LIMIT 1`,
);

/** What the newest attempt was told that was refused. */
export function refusalOf(handle: Pick<Handle, "statement">, id: number): StoredAnswer | null {
  const row = handle.statement(selectRefusal).get(id);
  return row ? toAnswer(row as unknown as AnswerRow) : null;
}

/** Which of these obligations have an attempt that ended `done`. */
export function evidence(handle: Handle, ids: readonly number[]): Map<number, StoredAnswer> {
  const found = new Map<number, StoredAnswer>();
  for (const id of ids) {
    const answer = lateEvidence(handle, id);
    if (answer) found.set(id, answer);
  }
  return found;
}
