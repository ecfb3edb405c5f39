import type { EffectDefinition } from "../domain/effect.ts";
import type { Json } from "../domain/json.ts";
import type { Limits } from "../domain/limits.ts";
import { type FrozenRequest, owedDue, type Progress } from "../domain/obligation.ts";
import { check } from "../domain/schema.ts";
import { requestDigest, sendMethod } from "../work/owe.ts";
import {
  type ObligationFacts,
  type ObligationVerb,
  refuseClosed,
  refuseRunning,
  renewed,
  requireEffect,
  type Step,
} from "./act-on-obligation.ts";

/** What a wrong request is replaced by; what is left out stays as it was owed. */
export interface Amendment {
  /** The whole body, as JSON; of an effect that a function sends, the whole input. */
  readonly json?: Json | undefined;
  /** Another URL of the same origin. */
  readonly url?: string | undefined;
}

/**
 * Replaces the frozen request of an operation, under the same operation key and a new generation: only where
 * nothing can have reached the provider, or what did is known to be absent.
 */
export function amend({ json, url }: Amendment, limits: Limits): ObligationVerb {
  if (json === undefined && url === undefined) {
    throw new TypeError("Cannot amend: there is nothing to replace; give the new body, the new URL, or both");
  }
  if (json !== undefined) bytesOf(json, limits);
  return { action: "amend", decide: (facts) => decide(facts, { json, url }, limits) };
}

function bytesOf(json: Json, { requestBytes }: Limits): Uint8Array {
  const bytes = new TextEncoder().encode(JSON.stringify(json));
  if (bytes.length <= requestBytes) return bytes;
  throw new TypeError(`Cannot amend: the body has ${bytes.length} bytes, allowed are ${requestBytes}`);
}

function decide(facts: ObligationFacts, amendment: Amendment, limits: Limits): Step {
  const { obligation, now, evidence, refuse } = facts;
  refuseClosed(facts);
  refuseRunning(facts);
  if (obligation.state === "settling" || evidence) throw refuse("it took effect already");
  if (obligation.cancelRequested) throw refuse("the application asked for it back; cancel it");
  if (obligation.reached !== "no" && obligation.keySince !== null) {
    throw refuse(
      "an earlier call may have taken effect as it was owed; look it up, or renew its key if you know that it did not",
    );
  }
  const definition = requireEffect(facts);
  const request = replaced({ ...facts, definition }, amendment, limits);
  const to: Progress = {
    ...obligation,
    ...renewed,
    state: "owed",
    generation: obligation.generation + 1,
    keySince: null,
    dueAt: owedDue(obligation, now),
    reason: null,
  };
  const says = `Its request is replaced: it goes out under a new key (generation ${to.generation})`;
  return { to, says, request: { request, digest: digestOf(request, definition) } };
}

function digestOf(request: FrozenRequest, { idempotency }: EffectDefinition): string {
  return requestDigest(request, idempotency);
}

function replaced(
  facts: ObligationFacts & { readonly definition: EffectDefinition },
  { json, url }: Amendment,
  limits: Limits,
): FrozenRequest {
  const { obligation, request, refuse } = facts;
  if (request === null) throw refuse("its request was removed");
  if (request.method === sendMethod) return { ...request, body: bytesOf(inputOf(facts, { json, url }), limits) };
  const parsed = url === undefined ? undefined : URL.parse(url);
  if (parsed === null || (parsed && parsed.origin !== obligation.destination)) {
    throw refuse(`its URL must stay at ${obligation.destination}; cancel it and owe another version of its key`);
  }
  return {
    ...request,
    url: parsed?.href ?? request.url,
    ...(json !== undefined && { body: bytesOf(json, limits), contentType: "application/json" }),
  };
}

/** The input that a function sends from now on, as it would have been owed. */
function inputOf(
  { definition, refuse }: ObligationFacts & { readonly definition: EffectDefinition },
  { json, url }: Amendment,
): Json {
  if (url !== undefined || json === undefined) {
    throw refuse("it is sent by a function from its input and has no URL of ours; give the new input as the body");
  }
  const checked = check(definition.input, json);
  if (!checked.fits) throw refuse(`the new input ${checked.issues.join("; ")}`);
  return checked.value as Json;
}
