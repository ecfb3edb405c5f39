import { identitySources } from "../providers/field-source.ts";
import type { ProviderRules } from "../providers/provider-spec.ts";
import type { DeliveryHeaders } from "../verify/delivery-headers.ts";
import { headersOf, type Scheme } from "../verify/scheme.ts";

const namesByRules = new WeakMap<ProviderRules, readonly string[]>();

/**
 * The headers that are kept with the bytes, as JSON text of [name, value] pairs: those that verify the
 * delivery and those that identify it, so that both can be done again. Everything else may hold
 * anything and is not kept.
 */
export function keptHeaders(rules: ProviderRules, headers: DeliveryHeaders): string {
  return JSON.stringify(keptPairs(rules, headers));
}

/** Those of one item of a batch, whose bytes are JSON whatever the whole was sent as. */
export function keptItemHeaders(rules: ProviderRules, headers: DeliveryHeaders): string {
  const pairs = keptPairs(rules, headers).filter(([name]) => name !== "content-type" && name !== "content-encoding");
  return JSON.stringify([["content-type", "application/json"], ...pairs]);
}

function keptPairs(rules: ProviderRules, headers: DeliveryHeaders): [string, string][] {
  const pairs: [string, string][] = [];
  for (const name of keptNames(rules)) {
    const value = headers.get(name);
    if (value !== undefined) pairs.push([name, value]);
  }
  return pairs;
}

function keptNames(rules: ProviderRules): readonly string[] {
  const known = namesByRules.get(rules);
  if (known !== undefined) return known;
  const names = namesOf(rules);
  namesByRules.set(rules, names);
  return names;
}

function namesOf({ schemes, identity, encodings, signedBytes }: ProviderRules): readonly string[] {
  const sources = identitySources(identity).flatMap((source) => (source.from === "header" ? [source.name] : []));
  // What is signed inflated is kept inflated.
  const encoding = encodings.length > 0 && signedBytes === "sent" ? ["content-encoding"] : [];
  const names = ["content-type", ...encoding, ...schemes.flatMap(schemeHeaders), ...sources];
  return [...new Set(names.map((name) => name.toLowerCase()))];
}

function schemeHeaders(scheme: Scheme): readonly string[] {
  // A token is the secret itself: keeping it would store a credential, and it signs nothing that could be checked again.
  return scheme.kind === "token" ? [] : headersOf(scheme);
}
