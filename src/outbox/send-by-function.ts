/**
 * Sends by a function of the user's, once: an SDK's call with the frozen input.
 *
 * The function says how its call ended by what it is given for that. Anything else, a throw and a silence
 * included, is "maybe": nobody knows what an SDK did before it failed.
 */
import type { AnsweredDetails, SendContext, Sending } from "../domain/effect.ts";
import { errorSummary } from "../domain/error-summary.ts";
import { retryAfterMs } from "../domain/retry-after.ts";
import { statusVerdict } from "../domain/status-verdict.ts";
import { type Attempting, type Ended, operationOfClaim, releasedEnd } from "./attempt.ts";
import { mayStart } from "./may-start.ts";
import { sent } from "./sent.ts";
import { sdkAnswer, unfitness } from "./stored-answer.ts";
import { alteration } from "./wire-request.ts";
import { withinCall } from "./within-call.ts";

type Send = (context: SendContext<unknown, unknown>) => Promise<Sending>;

/** Carries out a claim to send. Never rejects. */
export async function sendByFunction(attempting: Attempting, send: Send): Promise<Ended> {
  const altered = alteration(attempting);
  if (altered !== undefined) return unsent("permanent", { reason: altered, cause: "altered" });
  const { claim, definition, runtime } = attempting;
  if (!mayStart(attempting)()) return { learned: { kind: "released", attempt: "send" }, end: releasedEnd };
  const told = new WeakMap<object, Ended>();
  const operation = operationOfClaim(claim, definition);
  runtime.probe?.("send.call:before");
  const called = await withinCall(attempting, (signal) =>
    send({ operation, idempotencyKey: operation.wireKey, signal, ...wordsOf(attempting, told) }),
  );
  runtime.probe?.("send.call:after");
  if (called.kind === "stopped") return maybe(called.problem, called.cause);
  const given: unknown = called.kind === "gave" ? called.value : called.error;
  const ended = typeof given === "object" && given !== null ? told.get(given) : undefined;
  if (ended !== undefined) return ended;
  if (called.kind === "threw") return maybe(`send failed with ${errorSummary(called.error)}`, "failed");
  return maybe("send did not say how its call ended; return done, answered, unsent or declined", "failed");
}

/** What the function may say, each remembered by the token that it gives back. */
function wordsOf(
  attempting: Attempting,
  told: WeakMap<object, Ended>,
): Pick<SendContext<unknown, unknown>, "done" | "answered" | "unsent" | "declined"> {
  const say = (ended: Ended): Sending => {
    const token = {};
    told.set(token, ended);
    return token as Sending;
  };
  return {
    done: (answer) => say(done(attempting, answer)),
    answered: (status, details) => say(answered(attempting, status, details)),
    unsent: (reason) => say(unsent("not_sent", { reason, cause: "unsent" })),
    declined: (reason) => say(unsent("permanent", { reason, cause: "declined" })),
  };
}

function done({ definition, runtime }: Attempting, given: unknown, status: number | null = null): Ended {
  const answer = sdkAnswer(given, runtime.limits.answerBytes);
  const learned = { kind: "exists", by: "send", unfit: unfitness(definition, answer) } as const;
  return { learned, end: { verdict: "done", phase: "complete", status, cause: null, answer } };
}

function answered(attempting: Attempting, status: number, details: AnsweredDetails = {}): Ended {
  const { definition, runtime } = attempting;
  const { retryAfter, keyReused = false, reason } = details;
  const answer = { status, headers: {}, body: new Uint8Array(), truncated: false };
  const ruling = statusVerdict(answer, { keyed: definition.idempotency !== "none", verdicts: definition.verdicts });
  const { verdict, reached } = keyReused ? ({ verdict: "key_reused", reached: "maybe" } as const) : ruling;
  if (verdict === "done") return done(attempting, undefined, status);
  const why = reason === undefined ? `status ${status}` : `status ${status}: ${reason}`;
  const after = retryAfterMs(retryAfter === undefined ? undefined : [retryAfter], runtime.clock.wallMs());
  const ended = sent({ verdict, reached, reason: why, retryAfterMs: after }, { phase: "complete", cause: null });
  return { ...ended, end: { ...ended.end, status } };
}

function unsent(
  verdict: "not_sent" | "permanent",
  { reason, cause }: { readonly reason: string; readonly cause: string },
): Ended {
  return sent({ verdict, reached: "no", reason }, { phase: null, cause });
}

function maybe(reason: string, cause: string): Ended {
  return sent({ verdict: "unknown", reached: "maybe", reason }, { phase: "write", cause });
}
