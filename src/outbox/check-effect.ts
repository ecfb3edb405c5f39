import { durationMs, type Duration } from "../domain/duration.ts";
import type { EffectDefinition } from "../domain/effect.ts";
import { keyLengthProblem, keyTermsProblem } from "../domain/key-life.ts";
import type { Limits } from "../domain/limits.ts";
import { namePart } from "../domain/names.ts";
import { verdictProblem } from "../domain/status-verdict.ts";
import { callMsOf, policyOf } from "./effect-policy.ts";
import { mergeHeaders } from "./headers.ts";
import { originProblem } from "./ssrf-guard.ts";

/** Says why an effect cannot work as declared, before anything is owed under it; `undefined` when it can. */
export function checkEffect(definition: EffectDefinition, limits: Limits): string | undefined {
  return (
    kindProblem(definition) ??
    durationProblem(definition) ??
    keyProblem(definition, limits) ??
    lookupProblem(definition) ??
    callProblem(definition, limits)
  );
}

function kindProblem({ request, send, destination, idempotency }: EffectDefinition): string | undefined {
  if (typeof (request ?? send) !== "function") return "it has neither request nor send; say what it does";
  if (send === undefined) {
    const places =
      idempotency === "none" ? 1 : ["header", "field", "query"].filter((place) => place in idempotency).length;
    return places === 1
      ? undefined
      : `its idempotency key has ${places === 0 ? "no place" : "several places"}; name the header, field or query parameter that it travels in`;
  }
  const problem = namePart(destination);
  return problem === undefined ? undefined : `its destination ${problem}; name what it calls`;
}

function durationProblem({ timeout, idempotency, lookup, rate }: EffectDefinition): string | undefined {
  const keyLifetime = idempotency === "none" ? undefined : idempotency.keyLifetime;
  const durations: readonly (Duration | undefined)[] = [timeout, keyLifetime, lookup?.settleDelay, rate?.per];
  for (const text of durations) {
    if (text === undefined) continue;
    try {
      durationMs(text);
    } catch (error) {
      return error instanceof Error ? error.message : "a duration cannot be read";
    }
  }
  return undefined;
}

function keyProblem(definition: EffectDefinition, limits: Limits): string | undefined {
  const { idempotency, verdicts, keyReused, replayed } = definition;
  const keyed = idempotency !== "none";
  const verdict = verdictProblem({ keyed, verdicts, keyReused, replayed });
  if (verdict !== undefined) return verdict;
  const { key } = policyOf(definition, limits);
  if (!keyed || key === null) return undefined;
  return (
    placeProblem(idempotency, limits) ??
    keyTermsProblem(key, { callMs: callMsOf(definition, limits), skewMs: limits.leaseMarginMs })
  );
}

function placeProblem(
  idempotency: Exclude<EffectDefinition["idempotency"], "none">,
  limits: Limits,
): string | undefined {
  const tooShort = keyLengthProblem(idempotency);
  if (tooShort !== undefined) return `its idempotency key ${tooShort}`;
  if ("field" in idempotency) return idempotency.field === "" ? "its idempotency field has no name" : undefined;
  if ("query" in idempotency) return idempotency.query === "" ? "its idempotency parameter has no name" : undefined;
  if (!("header" in idempotency)) return undefined;
  // Given as a header of the effect's own, it meets the rules that keep such a header from framing the message.
  const merged = mergeHeaders({ [idempotency.header]: "key" }, { system: contentType, bytesMax: limits.headerBytes });
  return merged.fits ? undefined : `its idempotency header: ${merged.problem}`;
}

const contentType = { "content-type": "application/json" } as const;

function lookupProblem({ lookup }: EffectDefinition): string | undefined {
  if (lookup === undefined || "ask" in lookup) return undefined;
  const wrong = lookup.absentOn?.find((status) => !(Number.isInteger(status) && status >= 300 && status <= 599));
  return wrong === undefined ? undefined : `its lookup reads status ${wrong} as absent; give statuses from 300 to 599`;
}

function callProblem(definition: EffectDefinition, limits: Limits): string | undefined {
  const { allow = [], attemptsMax, concurrency, rate } = definition;
  const callMs = callMsOf(definition, limits);
  if (callMs + limits.leaseMarginMs >= limits.leaseMs) {
    return `its timeout of ${callMs} ms is too long for a lease of ${limits.leaseMs} ms; raise the limit leaseMs with it`;
  }
  for (const [name, value] of Object.entries({ attemptsMax, concurrency, "rate.calls": rate?.calls })) {
    if (value === undefined || (Number.isSafeInteger(value) && value >= 1)) continue;
    return `its ${name} must be a whole number from 1`;
  }
  if (rate !== undefined && durationMs(rate.per) === 0) return "its rate is per no time at all";
  return allow.map(originProblem).find((problem) => problem !== undefined);
}
