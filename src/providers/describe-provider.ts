import { authenticatedBy, type Scheme, type SignedPart, type TimestampRule } from "../verify/scheme.ts";
import { idSources, plainSources } from "./field-source.ts";
import type { Handshakes } from "./handshake.ts";
import { isSignedSource } from "./identify.ts";
import type { ContentDigest, FieldSource, ProviderRules } from "./provider-spec.ts";

/** A provider in words, each made of its data, for the command line and the docs. */
export interface ProviderDescription {
  readonly name: string;
  readonly title: string;
  readonly docs: string;
  /** How it signs, and what that covers. */
  readonly signature: string;
  readonly id: string;
  readonly type: string;
  readonly account: string;
  readonly mode: string;
  readonly batch: string;
  readonly handshake: string;
  readonly bodies: string;
  readonly answers: string;
  readonly ackMs: number;
  readonly retries: boolean;
  readonly redeliveryMs: number;
  readonly bodyBytesMax: number;
  readonly volatile: readonly string[];
  readonly samples: readonly string[];
  /** What shows that the signature is the provider's. */
  readonly proof: string;
  readonly unconfirmed: Readonly<Record<string, string>>;
}

/** Describes a provider by its data. */
export function describeProvider(rules: ProviderRules): ProviderDescription {
  const { name, identity, batch, answers, answerText } = rules;
  const texts = Object.entries(answers).map(([what, status]) => `${what} ${status}`);
  return {
    name,
    title: rules.title ?? name,
    docs: rules.docs ?? "",
    signature: [...new Set(rules.schemes.map(schemeText))].join("; or "),
    id: idText(rules),
    type: sourceText(identity.type) + unsignedText([identity.type], rules),
    account: (identity.account ?? []).map(sourceText).join(", or ") || "none",
    mode: identity.mode ? pathText(identity.mode.path) : "none",
    batch: batchText(batch),
    handshake: handshakeText(rules.handshake),
    bodies: [...rules.contentTypes, ...rules.encodings].join(", "),
    answers: [...texts, ...(answerText === undefined ? [] : [`body "${answerText}"`])].join(", ") || "the usual",
    ackMs: rules.ackMs,
    retries: rules.retries,
    redeliveryMs: rules.redeliveryMs,
    bodyBytesMax: rules.bodyBytesMax,
    volatile: rules.volatile.map(pathText),
    samples: Object.keys(rules.samples),
    proof: rules.proof ?? "unconfirmed",
    unconfirmed: rules.unconfirmed,
  };
}

function schemeText(scheme: Scheme): string {
  switch (scheme.kind) {
    case "token":
      return `a token in ${tokenPlace(scheme)}; nothing of what is sent is signed`;
    case "fields":
      return `HMAC-${scheme.hash.toUpperCase()} over ${fieldsText(scheme)} of the body, nothing else${ageText(scheme.timestamp)}`;
    case "jws":
      return `JWT (${scheme.algorithms.join(", ")}) over the body's SHA-256${ageText(scheme.timestamp)}`;
    case "hmac":
    case "ed25519":
    case "ecdsa":
    case "rsa": {
      const hash = scheme.kind === "hmac" ? `-${scheme.hash.toUpperCase()}` : "";
      const over = scheme.signed
        .map(partText)
        .filter((text) => text !== "")
        .join(", ");
      return `${kinds[scheme.kind]}${hash} over ${over}${ageText(scheme.timestamp)}`;
    }
  }
}

const kinds = { hmac: "HMAC", ed25519: "Ed25519", ecdsa: "ECDSA P-256", rsa: "RSA" } as const;

function tokenPlace(scheme: Extract<Scheme, { readonly kind: "token" }>): string {
  if ("header" in scheme) return scheme.header;
  if ("query" in scheme) return `the query's ${scheme.query}`;
  return "path" in scheme ? "the path" : `${pathText(scheme.field)} of each item`;
}

function fieldsText(scheme: Scheme): string {
  return (authenticatedBy(scheme).fields ?? []).map((field) => String(field.at(-1))).join(", ");
}

function partText(part: SignedPart): string {
  if (part === "crc32") return "the body's CRC-32";
  if (part === "url") return "public URL";
  if (typeof part === "string") return part;
  if ("header" in part) return part.header;
  if ("url" in part) return part.url === "with_port" ? "public URL with its port" : "public URL without a port";
  return "form" in part ? "sorted form fields" : "";
}

function ageText(rule: TimestampRule | undefined): string {
  return rule === undefined ? "" : `; at most ${spanText(rule.pastMs)} old`;
}

/** A span of time in its largest whole unit. */
export function spanText(ms: number): string {
  const units = [
    [86_400_000, "d"],
    [3_600_000, "h"],
    [60_000, "min"],
    [1_000, "s"],
  ] as const;
  const [size, unit] = units.find(([each]) => ms >= each && ms % each === 0) ?? [1, "ms"];
  return `${ms / size} ${unit}`;
}

function idText(rules: ProviderRules): string {
  const { identity } = rules;
  const sources = idSources(identity);
  const texts = sources.map(sourceText);
  if (identity.id.from === "arrival") return [...texts, "each arrival"].join(", or else ");
  return texts.join(" + ") + unsignedText(sources, rules);
}

function unsignedText(sources: readonly (FieldSource | ContentDigest)[], { schemes }: ProviderRules): string {
  const isSigned = schemes.every((scheme) => sources.every((each) => isSignedSource(each, authenticatedBy(scheme))));
  return isSigned ? "" : " (not signed)";
}

function sourceText(source: FieldSource | ContentDigest): string {
  switch (source.from) {
    case "digest":
      return "digest of the content";
    case "body":
      return pathText(source.path);
    case "header":
      return `header ${source.name}`;
    case "fixed":
      return `"${source.text}"`;
    case "key":
      return `the member that is not ${source.except.join(", ")}`;
    case "first":
      return source.of.map(sourceText).join(" or ");
    case "joined":
      return plainSources(source).map(sourceText).join(` ${source.by} `);
  }
}

function batchText(batch: ProviderRules["batch"]): string {
  if (batch === undefined) return "none";
  const items = `items of ${batch.path.length === 0 ? "the body" : pathText(batch.path)}`;
  return batch.within === undefined ? items : `${items}, and of ${pathText(batch.within)} in each`;
}

function pathText(path: readonly (string | number)[]): string {
  return path.join(".");
}

function handshakeText(handshakes: Handshakes): string {
  const all = handshakes === undefined ? [] : [handshakes].flat();
  return all.map((each) => (typeof each === "function" ? "its own" : greetings[each.kind])).join(", ") || "none";
}

const greetings = {
  challenge: "echoes a challenge",
  presence: "HEAD",
  question: "answers a signed question",
  note: "accepts an unsigned note",
  secret: "takes a secret once",
} as const;
