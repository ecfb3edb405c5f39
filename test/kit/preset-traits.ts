/** What a preset can be tried with beyond what holds for all, read off its data; the tests and the docs go by it. */

import { idSources, plainSources } from "../../src/providers/field-source.ts";
import type { ProviderData } from "../../src/providers/provider.ts";
import { authenticatedBy, type Scheme } from "../../src/verify/scheme.ts";

/** A header that an event's id is read from, and whether the signature covers it, by the first of the schemes. */
export interface IdHeader {
  readonly name: string;
  readonly isSigned: boolean;
}

export interface PresetTraits {
  /** What of a body a changed byte is refused in. */
  readonly body: "everywhere" | "in the signed fields" | "nowhere";
  /** Whether a delivery's age can be told, and is bounded. */
  readonly isTimed: boolean;
  readonly hasMode: boolean;
  readonly isBatch: boolean;
  readonly hasHandshake: boolean;
  readonly idHeader: IdHeader | undefined;
}

export function traitsOf({ rules }: ProviderData): PresetTraits {
  const { identity, schemes, batch, handshake } = rules;
  return {
    body: bodyTrait(schemes[0]),
    isTimed: schemes.some((scheme) => "timestamp" in scheme && scheme.timestamp !== undefined),
    hasMode: identity.mode !== undefined,
    isBatch: batch !== undefined,
    hasHandshake: handshake !== undefined,
    idHeader: idHeaderOf(rules),
  };
}

function bodyTrait(scheme: Scheme): PresetTraits["body"] {
  // A CRC-32 tells every change of one byte, though none that was made on purpose.
  if (authenticatedBy(scheme).body || scheme.kind === "rsa") return "everywhere";
  return scheme.kind === "fields" || "field" in scheme ? "in the signed fields" : "nowhere";
}

function idHeaderOf({ identity, schemes }: ProviderData["rules"]): IdHeader | undefined {
  const sources = idSources(identity).flatMap((source) => (source.from === "digest" ? [] : plainSources(source)));
  const header = sources.find((source) => source.from === "header");
  if (header === undefined) return undefined;
  const isSigned = authenticatedBy(schemes[0]).headers.includes(header.name.toLowerCase());
  return { name: header.name, isSigned };
}
