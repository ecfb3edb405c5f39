import { readPath, type Json, type JsonPath } from "../domain/json.ts";
import { jsonOf } from "./delivery.ts";
import { hmac, hmacKey } from "./hmac.ts";
import { keyBytes, keyFormText } from "./key-bytes.ts";
import { timestampText } from "./read-timestamp.ts";
import type { FieldsScheme, Scheme, TokenScheme } from "./scheme.ts";
import { sign, type SigningInput } from "./sign.ts";
import { fieldsMessage } from "./verify-fields.ts";

/** What goes out when a request is signed: some schemes put their proof into the body or the URL. */
export interface SignedRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** To follow the URL, such as `?token=...`; none for most. */
  readonly suffix?: string;
}

/**
 * Signs a request whole, wherever the scheme's proof goes.
 *
 * @throws TypeError when the secret is not of the scheme's form, or something that is signed has no value.
 */
export function signRequest(scheme: Scheme, secret: string, input: SigningInput): SignedRequest {
  const body = proofInBody(scheme, secret, input);
  const headers = sign(scheme, secret, { ...input, body });
  const suffix = scheme.kind === "token" ? tokenSuffix(scheme, secret) : "";
  return { headers, body, ...(suffix !== "" && { suffix }) };
}

function tokenSuffix(scheme: TokenScheme, secret: string): string {
  if ("query" in scheme) return `?${new URLSearchParams({ [scheme.query]: secret }).toString()}`;
  return "path" in scheme ? `/${encodeURIComponent(secret)}` : "";
}

/** The body with whatever of the proof stands in it. */
function proofInBody(scheme: Scheme, secret: string, { body, timestampMs }: SigningInput): Uint8Array {
  if (scheme.kind === "token" && "field" in scheme) {
    return changed(body, scheme.each, (item) => withJson(item, scheme.field, secret));
  }
  if (scheme.kind === "token" || scheme.kind === "jws") return body;
  const { timestamp: rule } = scheme;
  const timed = (item: Json): Json => {
    if (rule === undefined || !("body" in rule.from)) return item;
    const text = timestampText(rule, timestampMs);
    return withJson(item, rule.from.body, rule.unit === "rfc3339" ? text : Number(text));
  };
  if (scheme.kind === "fields") return signFields(scheme, secret, { body, timed });
  return rule && "body" in rule.from ? changed(body, undefined, timed) : body;
}

function signFields(
  scheme: FieldsScheme,
  secret: string,
  { body, timed }: { readonly body: Uint8Array; readonly timed: (item: Json) => Json },
): Uint8Array {
  const bytes = keyBytes(scheme.key, secret);
  if (bytes === undefined) throw new TypeError(`Cannot sign: the secret is not ${keyFormText(scheme.key)}`);
  const key = hmacKey(scheme.hash, bytes);
  return changed(body, scheme.each, (item) => {
    const whole = timed(item);
    const message = fieldsMessage(scheme, whole);
    if (message === undefined) throw new TypeError("Cannot sign: a signed field of the body is no plain value");
    return withJson(whole, scheme.signature, hmac(key, message).toString(scheme.encoding));
  });
}

function changed(body: Uint8Array, each: JsonPath | undefined, change: (item: Json) => Json): Uint8Array {
  return Buffer.from(JSON.stringify(eachItem(jsonOf(body) as Json, each, change)));
}

function eachItem(json: Json, each: JsonPath | undefined, change: (item: Json) => Json): Json {
  if (each === undefined) return change(json);
  const items = readPath(json, each);
  if (!Array.isArray(items)) throw new TypeError("Cannot sign: the body has no items where the scheme says");
  return withJson(json, each, (items as Json[]).map(change));
}

/** A copy with a value at a path of property names, whose objects are made where they are missing. */
export function withJson(json: Json | undefined, path: JsonPath, value: Json): Json {
  const [step, ...rest] = path;
  if (step === undefined) return value;
  const object = (typeof json === "object" && json !== null ? json : {}) as Readonly<Record<string, Json>>;
  return { ...object, [step]: withJson(readPath(object, [step]) as Json | undefined, rest, value) };
}
