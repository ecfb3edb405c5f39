import { hash } from "node:crypto";
import { readPath, type JsonPath } from "../domain/json.ts";
import { fixed } from "../domain/limits.ts";
import type { ParsedBody, UnreadableBody, UnreadableCause } from "../parse/parse-body.ts";
import type { DeliveryHeaders } from "../verify/delivery-headers.ts";
import type { Authenticated } from "../verify/scheme.ts";
import { idSources, identitySources, plainSources, type PlainSource } from "./field-source.ts";
import type { ContentDigest, FieldSource, IdentityRule, ProviderRules } from "./provider-spec.ts";

/** Why a field cannot name anything. */
export type TextProblem = "missing" | "blank" | "wrong_type" | "repeated" | "too_long" | "nul" | "lone_surrogate";

/** Why a verified delivery cannot be applied as it is. */
export type QuarantineCause = UnreadableCause | `${"type" | "account" | "mode"}_${TextProblem}`;

/** Which fields of an event's identity the signature covers. */
export interface SignedFields {
  readonly id: boolean;
  readonly type: boolean;
  readonly account: boolean;
}

interface Named {
  readonly id: string;
  /** `""` where a quarantined delivery does not tell. */
  readonly type: string;
  readonly account: string;
  readonly signed: SignedFields;
  /** What goes with this event only, where the preset names such a field. */
  readonly singleUse?: string;
}

/** Who an event is. */
export type Identity =
  | (Named & { readonly kind: "identified"; readonly mode: "live" | "test" | undefined })
  | (Named & { readonly kind: "quarantined"; readonly cause: QuarantineCause })
  | { readonly kind: "no_usable_id"; readonly cause: TextProblem };

/** A verified delivery, read. */
export interface ReadDelivery {
  readonly headers: DeliveryHeaders;
  readonly body: ParsedBody | UnreadableBody;
  readonly authenticated: Authenticated;
  /** For ids of the arrival itself. */
  readonly arrivedAtMs?: number;
}

/**
 * Reads who an event is. Ids are exact text: digits as they were sent, nothing trimmed, nothing cut.
 *
 * A delivery without a usable id cannot be told from others and is refused. One that is known but not
 * safe to apply (unreadable, or a key that decides stands twice) is quarantined; where an unreadable
 * body hides its id, its digest stands in, so that a redelivery finds the same record.
 *
 * @example
 * ```ts no-run
 * const identity = identify(stripe.rules, { headers, body: parseBody(bytes, stripe.plan), authenticated });
 * ```
 */
export function identify({ identity }: ProviderRules, delivery: ReadDelivery): Identity {
  const { body, authenticated } = delivery;
  const id = readId(identity, delivery);
  if ("problem" in id) return { kind: "no_usable_id", cause: id.problem };
  const type = readField(identity.type, delivery);
  const account = readAccount(identity, delivery);
  const named = {
    id: id.text,
    type: "text" in type ? type.text : "",
    account: "text" in account ? account.text : "",
    signed: signedFields(identity, authenticated),
    ...singleUse(identity, delivery),
  };
  if (body.kind === "unreadable") return { kind: "quarantined", cause: body.cause, ...named };
  if ("problem" in type) return { kind: "quarantined", cause: `type_${type.problem}`, ...named };
  if ("problem" in account) return { kind: "quarantined", cause: `account_${account.problem}`, ...named };
  const { mode } = identity;
  if (mode && body.isRepeated(mode.path)) return { kind: "quarantined", cause: "mode_repeated", ...named };
  return { kind: "identified", ...named, mode: mode && modeOf(mode, body.value) };
}

/** The body paths that identity reads, for the plan that a body is parsed with. */
export function identityPaths(identity: IdentityRule): readonly JsonPath[] {
  const paths = identitySources(identity).flatMap((source) => (source.from === "body" ? [source.path] : []));
  return identity.mode === undefined ? paths : [...paths, identity.mode.path];
}

function singleUse({ singleUse: source }: IdentityRule, delivery: ReadDelivery): { readonly singleUse?: string } {
  const field = source && readField(source, delivery);
  return field !== undefined && "text" in field ? { singleUse: field.text } : {};
}

type Field = { readonly text: string } | { readonly problem: TextProblem };

function readId(identity: IdentityRule, delivery: ReadDelivery): Field {
  const { id } = identity;
  if (id.from === "arrival") return arrivalId(id.orFirst, delivery);
  if (delivery.body.kind === "unreadable" && idSources(identity).some(isInBody)) {
    return { text: `unreadable:${contentDigest(delivery)}` };
  }
  return id.from === "derived" ? deriveId(id.parts, delivery) : readField(id, delivery);
}

/** Whether a source reads anything of the body. */
export function isInBody(source: FieldSource | ContentDigest): boolean {
  return source.from === "digest" || plainSources(source).some(({ from }) => from === "body" || from === "key");
}

function arrivalId(orFirst: FieldSource | undefined, delivery: ReadDelivery): Field {
  const field = orFirst && readField(orFirst, delivery);
  if (field !== undefined && !("problem" in field && field.problem === "missing")) return field;
  return { text: `arrival:${delivery.arrivedAtMs ?? 0}:${contentDigest(delivery).slice(0, 16)}` };
}

/** When an event arrived whose id says so: it is read again under the same id. */
export function arrivedAt(eventId: string): number | undefined {
  const [, atMs] = /^arrival:(\d+):/.exec(eventId) ?? [];
  return atMs === undefined ? undefined : Number(atMs);
}

function contentDigest({ body: { digest } }: ReadDelivery): string {
  return digest.slice(digest.lastIndexOf(":") + 1);
}

/** The digest of all parts: their lengths cannot run into each other, and the key stays short. */
function deriveId(parts: readonly (FieldSource | ContentDigest)[], delivery: ReadDelivery): Field {
  const texts: (string | null)[] = [];
  for (const part of parts) {
    const field = part.from === "digest" ? { text: contentDigest(delivery) } : readField(part, delivery);
    if ("problem" in field && field.problem !== "missing") return field;
    texts.push("text" in field ? field.text : null);
  }
  if (texts.every((text) => text === null)) return { problem: "missing" };
  return { text: `derived:${hash("sha256", JSON.stringify(texts), "hex")}` };
}

function readAccount({ account = [] }: IdentityRule, delivery: ReadDelivery): Field {
  for (const source of account) {
    const field = readField(source, delivery);
    if (!("problem" in field) || field.problem !== "missing") return field;
  }
  return { text: "" };
}

function readField(source: FieldSource, delivery: ReadDelivery): Field {
  const { headers, body } = delivery;
  if (source.from === "fixed") return { text: source.text };
  if (source.from === "header") {
    const value = headers.get(source.name);
    if (value === undefined) return { problem: "missing" };
    return headers.count(source.name) > 1 || value.includes(",") ? { problem: "repeated" } : checkText(value);
  }
  if (source.from === "first" || source.from === "joined") return readFields(source, delivery);
  if (body.kind === "unreadable") return { problem: "missing" };
  if (source.from === "key") return keyField(body.value, source.except);
  if (body.isRepeated(source.path)) return { problem: "repeated" };
  const value = readPath(body.value, source.path);
  if (value === undefined || value === null) return { problem: "missing" };
  const text = body.exactText(source.path);
  const names = text !== undefined && (typeof value === "string" || /^(?:0|-?[1-9]\d*)$/.test(text));
  return names ? checkText(text) : { problem: "wrong_type" };
}

function readFields(source: Extract<FieldSource, { readonly of: unknown }>, delivery: ReadDelivery): Field {
  const texts: string[] = [];
  for (const each of source.of) {
    const field = readField(each, delivery);
    if ("problem" in field && field.problem !== "missing") return field;
    if (!("text" in field)) continue;
    if (source.from === "first") return field;
    texts.push(field.text);
  }
  return texts.length === 0 || source.from === "first" ? { problem: "missing" } : checkText(texts.join(source.by));
}

function keyField(value: unknown, except: readonly string[]): Field {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  const key = isObject ? Object.keys(value).find((name) => !except.includes(name)) : undefined;
  return key === undefined ? { problem: "missing" } : checkText(key);
}

function checkText(text: string): Field {
  if (text.trim() === "") return { problem: "blank" };
  if (Buffer.byteLength(text) > fixed.eventIdBytes) return { problem: "too_long" };
  if (text.includes("\0")) return { problem: "nul" };
  return text.isWellFormed() ? { text } : { problem: "lone_surrogate" };
}

function signedFields(identity: IdentityRule, authenticated: Authenticated): SignedFields {
  const isSigned = (source: FieldSource | ContentDigest): boolean => isSignedSource(source, authenticated);
  const { id, type, account = [] } = identity;
  return {
    // An id of the arrival is nobody's word.
    id: id.from === "arrival" || idSources(identity).every(isSigned),
    type: isSigned(type),
    account: account.every(isSigned),
  };
}

/** Whether everything that a field is made of is covered by the signature. */
export function isSignedSource(source: FieldSource | ContentDigest, authenticated: Authenticated): boolean {
  if (source.from === "digest") return authenticated.body;
  return plainSources(source).every((plain) => isSignedPlain(plain, authenticated));
}

function isSignedPlain(source: PlainSource, { body, headers, fields = [] }: Authenticated): boolean {
  if (source.from === "fixed") return true;
  if (source.from === "header") return headers.includes(source.name.toLowerCase());
  return body || (source.from === "body" && fields.some((field) => field.join("\n") === source.path.join("\n")));
}

function modeOf({ path, live, test }: NonNullable<IdentityRule["mode"]>, body: unknown): "live" | "test" | undefined {
  const value = readPath(body, path);
  if (value === live) return "live";
  return value === test ? "test" : undefined;
}
