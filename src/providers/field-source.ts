import type { ContentDigest, FieldSource, IdentityRule } from "./provider-spec.ts";

/** A source that reads one thing by itself. */
export type PlainSource = Exclude<FieldSource, { readonly of: unknown }>;

/** The plain sources that a source is made of. */
export function plainSources(source: FieldSource): readonly PlainSource[] {
  return "of" in source ? source.of.flatMap(plainSources) : [source];
}

/** The sources of an id: none where it is of the arrival alone. */
export function idSources({ id }: IdentityRule): readonly (FieldSource | ContentDigest)[] {
  if (id.from === "derived") return id.parts;
  if (id.from === "arrival") return id.orFirst ? [id.orFirst] : [];
  return [id];
}

/** Every plain source that an identity reads, a digest of the content apart. */
export function identitySources(rule: IdentityRule): readonly PlainSource[] {
  const singleUse = rule.singleUse ? [rule.singleUse] : [];
  return [...idSources(rule), rule.type, ...(rule.account ?? []), ...singleUse].flatMap((source) =>
    source.from === "digest" ? [] : plainSources(source),
  );
}
