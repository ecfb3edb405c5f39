import { bearsMark, markProblem, type AnswerMark, type HttpAnswer } from "./answer-mark.ts";
import type { StatusVerdict } from "./effect.ts";
import type { Reached } from "./obligation.ts";

/** One row of the table: what the statuses from `from` to `to` say of a call. */
export interface StatusRule {
  readonly from: number;
  readonly to: number;
  readonly verdict: StatusVerdict;
  /** Whether the effect may exist: `"no"` only where the standard defines the status as a refusal to act. */
  readonly reached: Reached;
  readonly why: string;
}

/**
 * The documented table; the first row that holds a status decides. Everything from 200 to 599 is held
 * by a row; anything else is no final answer, hence unknown.
 *
 * `reached` is about this answer alone. An obligation keeps the furthest of all its attempts, so a
 * refusal never takes back what an earlier timeout left open. Source: RFC 9110, section 15, unless named.
 */
export const statusRules: readonly StatusRule[] = [
  { from: 200, to: 299, verdict: "done", reached: "yes", why: "success" },
  { from: 300, to: 399, verdict: "permanent", reached: "maybe", why: "never followed; 303 often follows a deed" },
  { from: 400, to: 400, verdict: "permanent", reached: "no", why: "the request was not understood" },
  { from: 401, to: 401, verdict: "pause", reached: "no", why: "not applied, for lack of credentials" },
  { from: 402, to: 402, verdict: "permanent", reached: "maybe", why: "payment providers answer it after a try" },
  { from: 403, to: 403, verdict: "pause", reached: "no", why: "refused to this caller" },
  { from: 404, to: 405, verdict: "permanent", reached: "no", why: "nothing is there that could act" },
  { from: 408, to: 408, verdict: "again", reached: "maybe", why: "a gateway's word, its server may have acted" },
  { from: 409, to: 409, verdict: "permanent", reached: "maybe", why: 'conflict; under a key, "still running"' },
  { from: 410, to: 411, verdict: "permanent", reached: "no", why: "the target is gone, or the length missing" },
  { from: 413, to: 415, verdict: "permanent", reached: "no", why: "body, URL or type was not accepted" },
  { from: 421, to: 422, verdict: "permanent", reached: "no", why: "wrong server, or no sense in the content" },
  { from: 425, to: 425, verdict: "again", reached: "no", why: "not processed: might be a replay (RFC 8470)" },
  { from: 428, to: 428, verdict: "permanent", reached: "no", why: "not processed: no condition (RFC 6585)" },
  { from: 429, to: 429, verdict: "again", reached: "no", why: "not processed: too many (RFC 6585)" },
  { from: 431, to: 431, verdict: "permanent", reached: "no", why: "not processed: big headers (RFC 6585)" },
  { from: 400, to: 499, verdict: "permanent", reached: "maybe", why: "a refusal, perhaps in the middle of the deed" },
  { from: 500, to: 599, verdict: "again", reached: "maybe", why: "server or gateway failed, at any point" },
];

const noFinalAnswer: StatusRuling = { verdict: "unknown", reached: "maybe", replayed: false };

/** What an effect declares about its provider's answers. */
export interface VerdictOptions {
  /** Whether the call went out under an idempotency key: only then can 409 mean "still running". */
  readonly keyed: boolean;
  /** Statuses that this provider means differently. */
  readonly verdicts?: Readonly<Record<number, StatusVerdict>> | undefined;
  /** The answer "this key was used for another request", where its status alone does not say so. */
  readonly keyReused?: AnswerMark | undefined;
  /** The mark of an answer that the provider stored and gives again under the same key. */
  readonly replayed?: AnswerMark | undefined;
}

export interface StatusRuling {
  readonly verdict: StatusVerdict;
  /** Whether the effect may exist, going by this answer alone. */
  readonly reached: Reached;
  /** A stored error: the same key can only bring it again, so the verdict is permanent for this key. */
  readonly replayed: boolean;
}

/**
 * Rules on an answer, by the effect's own word first and then by {@link statusRules}.
 *
 * @example
 * ```ts
 * const answer = { status: 503, headers: {}, body: new Uint8Array(), truncated: false };
 * statusVerdict(answer, { keyed: true }); // { verdict: "again", reached: "maybe", replayed: false }
 * ```
 */
export function statusVerdict(answer: HttpAnswer, options: VerdictOptions): StatusRuling {
  const rule = statusRules.find(({ from, to }) => answer.status >= from && answer.status <= to);
  if (rule === undefined) return noFinalAnswer;
  if (options.keyReused && bearsMark(answer, options.keyReused)) return ruling("key_reused", "maybe");
  const verdict = options.verdicts?.[answer.status] ?? listedVerdict(rule, answer, options);
  const reached = reachedUnder(verdict, rule);
  if (verdict !== "done" && options.replayed && bearsMark(answer, options.replayed)) {
    return { verdict: "permanent", reached, replayed: true };
  }
  return ruling(verdict, reached);
}

function ruling(verdict: StatusVerdict, reached: Reached): StatusRuling {
  return { verdict, reached, replayed: false };
}

function listedVerdict(rule: StatusRule, { status }: HttpAnswer, { keyed }: VerdictOptions): StatusVerdict {
  return status === 409 && keyed ? "running" : rule.verdict;
}

/** An effect's own verdict may say more of what happened than the status does, never less. */
function reachedUnder(verdict: StatusVerdict, rule: StatusRule): Reached {
  if (verdict === "done") return "yes";
  const refusal = verdict === "again" || verdict === "pause" || verdict === "permanent";
  return refusal && rule.reached === "no" ? "no" : "maybe";
}

const verdictNames: readonly StatusVerdict[] = [
  "done",
  "again",
  "unknown",
  "running",
  "pause",
  "permanent",
  "key_reused",
];
const verdictsOfSuccess: readonly StatusVerdict[] = ["done", "unknown", "running"];

/**
 * Says why an effect's declarations cannot be followed; `undefined` when they can.
 *
 * @example
 * ```ts
 * verdictProblem({ keyed: true, verdicts: { 404: "again" } }); // undefined
 * verdictProblem({ keyed: true, verdicts: { 102: "done" } }); // 'names status "102", give one from 200 to 599'
 * ```
 */
export function verdictProblem({ keyed, verdicts = {}, keyReused, replayed }: VerdictOptions): string | undefined {
  for (const [name, verdict] of Object.entries(verdicts)) {
    const problem = overrideProblem(name, verdict, keyed);
    if (problem !== undefined) return problem;
  }
  const marks = { "key reused": keyReused, replayed };
  for (const [name, mark] of Object.entries(marks)) {
    if (mark === undefined) continue;
    const problem = keyed ? markProblem(mark) : "is about a key, and the effect has none";
    if (problem !== undefined) return `has a mark for "${name}" that ${problem}`;
  }
  return undefined;
}

function overrideProblem(name: string, verdict: StatusVerdict, keyed: boolean): string | undefined {
  const status = Number(name);
  if (!/^[2-5]\d\d$/.test(name)) return `names status "${name}", give one from 200 to 599`;
  if (!verdictNames.includes(verdict)) return `gives status ${name} a verdict other than ${verdictNames.join(", ")}`;
  if (status < 300 && !verdictsOfSuccess.includes(verdict)) {
    return `says "${verdict}" of status ${name}, which must not be sent again: say ${verdictsOfSuccess.join(", ")}`;
  }
  if (!keyed && (verdict === "running" || verdict === "key_reused")) {
    return `says "${verdict}" of status ${name}, which is about a key, and the effect has none`;
  }
  return undefined;
}
