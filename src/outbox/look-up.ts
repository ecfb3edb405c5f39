/**
 * Asks the provider once whether an operation took effect. Only a plain answer counts: whatever throws,
 * cannot be read, or was not declared leaves the outcome unknown.
 */
import type { Lookup, SendLookup } from "../domain/effect.ts";
import { errorSummary } from "../domain/error-summary.ts";
import type { AttemptEnd, StoredAnswer } from "../domain/obligation.ts";
import { retryAfterMs } from "../domain/retry-after.ts";
import { check } from "../domain/schema.ts";
import { type Attempting, describeCall, type Ended, operationOfClaim, releasedEnd, wasTakenBack } from "./attempt.ts";
import type { CallResult } from "./call-result.ts";
import { callMsOf } from "./effect-policy.ts";
import { ownHeaders } from "./own-headers.ts";
import { lookupAnswer, parseJson, unfitness } from "./stored-answer.ts";
import { withinCall } from "./within-call.ts";

type Answered = Extract<CallResult, { kind: "answered" }>;
type Asked = Lookup<unknown, unknown, unknown>;

/** What to do about a lookup of the user's that throws. */
const mend = "; mend it in the effect: until it tells, nothing is sent again";

const released: Ended = { learned: { kind: "released", attempt: "lookup" }, end: releasedEnd };

/** Carries out a claim to look up. Never rejects. */
export async function lookUp(attempting: Attempting): Promise<Ended> {
  const { lookup } = attempting.definition;
  if (lookup === undefined) return unknown("the effect declares no lookup", { cause: "undeclared" });
  if ("ask" in lookup) return askBySdk(attempting, lookup);
  let result: CallResult;
  try {
    const operation = operationOfClaim(attempting.claim, attempting.definition);
    const own = await ownHeaders(attempting, operation);
    if (!own.fits) return own.cause === "aborted" ? released : unknown(own.problem, { cause: own.cause });
    result = await ask(attempting, lookup.get(operation), own.headers);
  } catch (error) {
    return unknown(`the lookup failed with ${errorSummary(error)}${mend}`, { cause: "failed" });
  }
  if (wasTakenBack(result)) return released;
  if (result.kind !== "answered") return unknown(describeCall(result), result);
  return answered(attempting, lookup, result);
}

async function askBySdk(attempting: Attempting, { ask: askIt }: SendLookup<unknown, unknown>): Promise<Ended> {
  const { claim, definition, lease, runtime } = attempting;
  if (!lease.live) return released;
  const asked = await withinCall(attempting, (signal) =>
    askIt({ operation: operationOfClaim(claim, definition), signal }),
  );
  if (asked.kind === "threw") {
    return unknown(`the lookup failed with ${errorSummary(asked.error)}${mend}`, { cause: "failed" });
  }
  if (asked.kind === "stopped") return asked.cause === "aborted" ? released : unknown(asked.problem, asked);
  const read = foundBy(asked.value, runtime.limits.answerBytes);
  if (read.kind === "unreadable") return unknown(read.problem, { cause: "unreadable" });
  return heard(attempting, read, { phase: null, status: null, cause: null, answer: null });
}

function ask(
  { definition, lease, runtime, call }: Attempting,
  url: string,
  headers: Readonly<Record<string, string>>,
): Promise<CallResult> {
  return call(
    { method: "GET", url, body: null, headers, systemHeaders: {} },
    {
      mayStart: () => lease.live,
      allow: definition.allow ?? [],
      signal: lease.signal,
      callMs: callMsOf(definition, runtime.limits),
      probe: runtime.probe,
    },
  );
}

function answered({ definition, runtime }: Attempting, lookup: Asked, result: Answered): Ended {
  const { status, phase } = result;
  const end = { phase, status, cause: null, answer: null };
  if (status < 200 || status > 299) {
    if (lookup.absentOn?.includes(status)) return { learned: { kind: "absent" }, end: { ...end, verdict: "absent" } };
    return unknown(`status ${status}`, {
      ...end,
      retryAfterMs: retryAfterMs(result.headers["retry-after"], runtime.clock.wallMs()),
    });
  }
  const read = readFound(lookup, result, runtime.limits.answerBytes);
  if (read.kind === "unreadable") return unknown(read.problem, { ...end, cause: "unreadable" });
  return heard({ definition }, read, end);
}

function heard(
  { definition }: Pick<Attempting, "definition">,
  read: Exclude<Read, { kind: "unreadable" }>,
  end: Omit<AttemptEnd, "verdict">,
): Ended {
  if (read.kind === "absent") return { learned: { kind: "absent" }, end: { ...end, verdict: "absent" } };
  const { answer } = read;
  const learned = { kind: "exists", by: "lookup", unfit: unfitness(definition, answer) } as const;
  return { learned, end: { ...end, verdict: "found" }, answer };
}

type Read =
  | { readonly kind: "absent" }
  | { readonly kind: "found"; readonly answer: StoredAnswer }
  | { readonly kind: "unreadable"; readonly problem: string };

function readFound({ answer: schema, found }: Asked, { body, truncated }: Answered, bytesMax: number): Read {
  if (truncated) return unreadable("the lookup's answer was cut");
  const json = parseJson(body);
  if (!json.valid) return unreadable("the lookup's answer is not JSON");
  try {
    const checked = schema ? check(schema, json.value) : { fits: true as const, value: json.value };
    if (!checked.fits) return unreadable(`the lookup's answer ${checked.issues.join("; ")}`);
    return foundBy(found(checked.value), bytesMax);
  } catch (error) {
    return unreadable(`found failed with ${errorSummary(error)}${mend}`);
  }
}

function foundBy(value: unknown, bytesMax: number): Read {
  if (value === undefined) return { kind: "absent" };
  // An answer that means "nothing" in other words would otherwise close an operation that was never done.
  if (value === null || value instanceof Promise) {
    return unreadable("found gave null or a promise; give undefined for absent");
  }
  try {
    return { kind: "found", answer: lookupAnswer(value, bytesMax) };
  } catch (error) {
    return unreadable(`what was found is no JSON: ${errorSummary(error)}`);
  }
}

function unreadable(problem: string): Read {
  return { kind: "unreadable", problem };
}

function unknown(
  reason: string,
  {
    phase = null,
    status = null,
    cause = null,
    retryAfterMs,
  }: Partial<Pick<AttemptEnd, "phase" | "status" | "cause">> & { readonly retryAfterMs?: number | undefined },
): Ended {
  return {
    learned: { kind: "lookup_unknown", reason, retryAfterMs },
    end: { verdict: "unknown", phase, status, cause, answer: null },
  };
}
