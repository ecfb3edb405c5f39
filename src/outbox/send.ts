/**
 * Sends a frozen request once.
 *
 * What is not known to be unsent is "maybe": a call that rejects, ends without a status, or is aborted.
 * Right before the first byte the lease and the key are looked at once more, by this process's clocks.
 */
import type { HttpAnswer } from "../domain/answer-mark.ts";
import { errorSummary } from "../domain/error-summary.ts";
import { retryAfterMs } from "../domain/retry-after.ts";
import { statusVerdict } from "../domain/status-verdict.ts";
import { type Attempting, describeCall, type Ended, operationOfClaim, releasedEnd, wasTakenBack } from "./attempt.ts";
import type { CallResult } from "./call-result.ts";
import type { Sent } from "./decide.ts";
import { callMsOf } from "./effect-policy.ts";
import { mayStart } from "./may-start.ts";
import { sendByFunction } from "./send-by-function.ts";
import { sent } from "./sent.ts";
import { callAnswer, unfitness } from "./stored-answer.ts";
import { type Wired, wireRequest } from "./wire-request.ts";

/** Carries out a claim to send. Never rejects. */
export async function send(attempting: Attempting): Promise<Ended> {
  if (attempting.definition.send) return sendByFunction(attempting, attempting.definition.send);
  let wired: Wired;
  try {
    const { claim, definition } = attempting;
    wired = await wireRequest(attempting, operationOfClaim(claim, definition));
  } catch (error) {
    wired = { fits: false, cause: "unsendable", problem: `the request could not be built: ${errorSummary(error)}` };
  }
  if (!wired.fits) return unbuilt(wired);
  let result: CallResult;
  try {
    result = await call(attempting, wired.request);
  } catch (error) {
    return unheard(error);
  }
  return result.kind === "answered" ? answered(attempting, result) : unanswered(result);
}

function call(attempting: Attempting, request: (Wired & { readonly fits: true })["request"]): Promise<CallResult> {
  const { definition, lease, runtime } = attempting;
  return attempting.call(request, {
    mayStart: mayStart(attempting),
    allow: definition.allow ?? [],
    signal: lease.signal,
    callMs: callMsOf(definition, runtime.limits),
    // Where no key protects, a lost answer must not be the doing of an idle connection that was closing.
    reuse: definition.idempotency !== "none",
    keepHeaders: [definition.keyReused?.header, definition.replayed?.header].filter((name) => name !== undefined),
    probe: runtime.probe,
  });
}

function answered({ definition, runtime }: Attempting, result: HttpAnswer & CallResult): Ended {
  const keyed = definition.idempotency !== "none";
  const { verdict, reached, replayed } = statusVerdict(result, { ...definition, keyed });
  const end = { phase: result.phase, status: result.status, cause: replayed ? "replayed" : null, answer: null };
  if (verdict === "done") {
    const answer = callAnswer(result);
    const learned = { kind: "exists", by: "send", unfit: unfitness(definition, answer) } as const;
    return { learned, end: { ...end, verdict, answer } };
  }
  const learned: Sent = {
    kind: "sent",
    verdict,
    reached,
    reason: replayed ? `status ${result.status}, stored under this key and given again` : `status ${result.status}`,
    retryAfterMs: retryAfterMs(result.headers["retry-after"], runtime.clock.wallMs()),
  };
  // Why it was refused is the provider's own words alone; what is tried again may come each time.
  const refused = verdict === "permanent" || verdict === "pause";
  return { learned, end: { ...end, verdict, answer: refused ? callAnswer(result) : null } };
}

function unanswered(result: Exclude<CallResult, { kind: "answered" }>): Ended {
  const { kind, reached, phase, cause } = result;
  if (wasTakenBack(result)) {
    return { learned: { kind: "released", attempt: "send" }, end: { ...releasedEnd, phase, cause } };
  }
  const verdict = cause === "blocked" || cause === "unsendable" ? "permanent" : kind;
  return sent({ verdict, reached, reason: describeCall(result) }, { phase, cause });
}

function unbuilt({ cause, problem }: Wired & { readonly fits: false }): Ended {
  if (cause === "aborted") return { learned: { kind: "released", attempt: "send" }, end: { ...releasedEnd, cause } };
  // What its own headers function gave or threw may mend by itself; an altered or unfit request does not.
  const verdict = cause === "headers" ? "not_sent" : "permanent";
  return sent({ verdict, reached: "no", reason: problem }, { phase: null, cause });
}

function unheard(error: unknown): Ended {
  return sent({ verdict: "unknown", reached: "maybe", reason: errorSummary(error) }, { phase: null, cause: "failed" });
}
