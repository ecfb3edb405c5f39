import { hash } from "node:crypto";
import { readPath, type JsonPath } from "../domain/json.ts";
import { fixed } from "../domain/limits.ts";
import type { ParsedBody, UnreadableBody, UnreadableCause } from "../parse/parse-body.ts";
import type { DeliveryHeaders } from "../verify/delivery-headers.ts";
import type { Authenticated } from "../verify/scheme.ts";
import type { FieldSource, IdentityRule, ProviderRules } from "./provider-spec.ts";

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
  };
  if (body.kind === "unreadable") return { kind: "quarantined", cause: body.cause, ...named };
  if ("problem" in type) return { kind: "quarantined", cause: `type_${type.problem}`, ...named };
  if ("problem" in account) return { kind: "quarantined", cause: `account_${account.problem}`, ...named };
  const { mode } = identity;
  if (mode && body.isRepeated(mode.path)) return { kind: "quarantined", cause: "mode_repeated", ...named };
  return { kind: "identified", ...named, mode: mode && modeOf(mode, body.value) };
}

/** The body paths that identity reads, for the plan that a body is parsed with. */
export function identityPaths({ id, type, account = [], mode }: IdentityRule): readonly JsonPath[] {
  const sources = [...(id.from === "derived" ? id.parts : [id]), type, ...account];
  const paths = sources.flatMap((source) => (source.from === "body" ? [source.path] : []));
  return mode === undefined ? paths : [...paths, mode.path];
}

type Field = { readonly text: string } | { readonly problem: TextProblem };

function readId({ id }: IdentityRule, delivery: ReadDelivery): Field {
  const sources = id.from === "derived" ? id.parts : [id];
  if (delivery.body.kind === "unreadable" && sources.some(({ from }) => from === "body")) {
    const { digest } = delivery.body;
    return { text: `unreadable:${digest.slice(digest.lastIndexOf(":") + 1)}` };
  }
  return id.from === "derived" ? deriveId(id.parts, delivery) : readField(id, delivery);
}

/** The digest of all parts: their lengths cannot run into each other, and the key stays short. */
function deriveId(parts: readonly FieldSource[], delivery: ReadDelivery): Field {
  const texts: (string | null)[] = [];
  for (const part of parts) {
    const field = readField(part, delivery);
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

function readField(source: FieldSource, { headers, body }: ReadDelivery): Field {
  if (source.from === "fixed") return { text: source.text };
  if (source.from === "header") {
    const value = headers.get(source.name);
    if (value === undefined) return { problem: "missing" };
    return headers.count(source.name) > 1 || value.includes(",") ? { problem: "repeated" } : checkText(value);
  }
  if (body.kind === "unreadable") return { problem: "missing" };
  if (body.isRepeated(source.path)) return { problem: "repeated" };
  const value = readPath(body.value, source.path);
  if (value === undefined || value === null) return { problem: "missing" };
  const text = body.exactText(source.path);
  const names = text !== undefined && (typeof value === "string" || /^(?:0|-?[1-9]\d*)$/.test(text));
  return names ? checkText(text) : { problem: "wrong_type" };
}

function checkText(text: string): Field {
  if (text.trim() === "") return { problem: "blank" };
  if (Buffer.byteLength(text) > fixed.eventIdBytes) return { problem: "too_long" };
  if (text.includes("\0")) return { problem: "nul" };
  return text.isWellFormed() ? { text } : { problem: "lone_surrogate" };
}

function signedFields({ id, type, account = [] }: IdentityRule, authenticated: Authenticated): SignedFields {
  const isSigned = (source: FieldSource): boolean => {
    if (source.from === "fixed") return true;
    return source.from === "body" ? authenticated.body : authenticated.headers.includes(source.name.toLowerCase());
  };
  return {
    id: id.from === "derived" ? id.parts.every(isSigned) : isSigned(id),
    type: isSigned(type),
    account: account.every(isSigned),
  };
}

function modeOf({ path, live, test }: NonNullable<IdentityRule["mode"]>, body: unknown): "live" | "test" | undefined {
  const value = readPath(body, path);
  if (value === live) return "live";
  return value === test ? "test" : undefined;
}
