import type { FieldSource, ProviderRules } from "../providers/provider-spec.ts";
import type { DeliveryHeaders } from "../verify/delivery-headers.ts";
import type { Scheme } from "../verify/scheme.ts";

const namesByRules = new WeakMap<ProviderRules, readonly string[]>();

/**
 * The headers that are kept with the bytes, as JSON text of [name, value] pairs: those that verify the
 * delivery and those that identify it, so that both can be done again. Everything else may hold
 * anything and is not kept.
 */
export function keptHeaders(rules: ProviderRules, headers: DeliveryHeaders): string {
  const pairs: [string, string][] = [];
  for (const name of keptNames(rules)) {
    const value = headers.get(name);
    if (value !== undefined) pairs.push([name, value]);
  }
  return JSON.stringify(pairs);
}

function keptNames(rules: ProviderRules): readonly string[] {
  const known = namesByRules.get(rules);
  if (known !== undefined) return known;
  const names = namesOf(rules);
  namesByRules.set(rules, names);
  return names;
}

function namesOf({ schemes, identity }: ProviderRules): readonly string[] {
  const { id, type, account = [] } = identity;
  const sources = [...(id.from === "derived" ? id.parts : [id]), type, ...account];
  return [
    ...new Set(
      ["content-type", ...schemes.flatMap(schemeHeaders), ...sources.flatMap(sourceHeaders)].map((name) =>
        name.toLowerCase(),
      ),
    ),
  ];
}

function schemeHeaders(scheme: Scheme): readonly string[] {
  // A token is the secret itself: keeping it would store a credential, and it signs nothing that could be checked again.
  if (scheme.kind === "token") return [];
  const timestamp = scheme.timestamp && "header" in scheme.timestamp.from ? [scheme.timestamp.from.header] : [];
  const signed = scheme.signed.flatMap((part) => (typeof part === "object" && "header" in part ? [part.header] : []));
  return [...scheme.headers, ...timestamp, ...signed];
}

function sourceHeaders(source: FieldSource): readonly string[] {
  return source.from === "header" ? [source.name] : [];
}
