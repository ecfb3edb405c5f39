/** What the types say of a spec, for callers that the compiler does not check. */
import type { Scheme } from "../verify/scheme.ts";
import type { ArrivalId, ContentDigest, DerivedId, FieldSource, ProviderSpec } from "./provider-spec.ts";

const schemeKinds: Readonly<Record<Scheme["kind"], true>> = {
  hmac: true,
  ed25519: true,
  ecdsa: true,
  rsa: true,
  token: true,
  fields: true,
  jws: true,
};

type Source = FieldSource | ArrivalId | DerivedId | ContentDigest;

const sources: Readonly<Record<Source["from"], true>> = {
  header: true,
  body: true,
  fixed: true,
  key: true,
  first: true,
  joined: true,
  digest: true,
  derived: true,
  arrival: true,
};

/** Says which part of a spec is missing or none that there is, and what to write. */
export function shapeProblem(spec: ProviderSpec): string | undefined {
  const { name, schemes, identity } = spec as Partial<ProviderSpec>;
  if (typeof name !== "string") return "it has no name; give it one of lower-case letters, digits and dashes";
  if (!Array.isArray(schemes)) return "schemes is no list; say how its deliveries are signed, at least by a token";
  for (const scheme of schemes as readonly (Partial<Scheme> | null)[]) {
    if (!isOneOf(schemeKinds, scheme?.kind)) {
      return `its scheme is of the kind "${String(scheme?.kind)}"; known are ${Object.keys(schemeKinds).join(", ")}`;
    }
  }
  if (typeof identity !== "object" || identity === null) return "identity is missing; say where an event's id stands";
  for (const part of ["id", "type"] as const) {
    const from = (identity[part] as Partial<Source> | undefined)?.from;
    if (!isOneOf(sources, from)) {
      return `identity.${part} is from "${String(from)}"; known are ${Object.keys(sources).join(", ")}`;
    }
  }
  return undefined;
}

function isOneOf(names: object, given: unknown): boolean {
  return typeof given === "string" && Object.hasOwn(names, given);
}
