import { hash, timingSafeEqual } from "node:crypto";
import { readPath } from "../domain/json.ts";
import { decodeStrict } from "./decode.ts";
import { type Delivery, jsonOf, queryOf } from "./delivery.ts";
import type { KeyedToken } from "./keyring.ts";
import type { TokenScheme } from "./scheme.ts";
import { miss, type Miss, type RefusalCause, type Verified } from "./verdict.ts";

/** Verifies a secret that is sent as it is; where it comes with each item, all have to have the same. */
export function verifyToken({ scheme, keys, authenticated }: KeyedToken, delivery: Delivery): Verified | Miss {
  const given = tokensOf(scheme, delivery);
  if (typeof given === "string") return miss(given);
  let matched: string | undefined;
  for (const { id, key } of keys) {
    let isRight = given.length > 0;
    for (const token of given) {
      if (!timingSafeEqual(hash("sha256", token, "buffer"), key)) isRight = false;
    }
    if (isRight) matched ??= id;
  }
  if (matched === undefined) return miss("signature_mismatch");
  return { kind: "verified", secretId: matched, timestampMs: undefined, authenticated };
}

function tokensOf(scheme: TokenScheme, delivery: Delivery): readonly Uint8Array[] | RefusalCause {
  if ("header" in scheme) return headerToken(scheme, delivery);
  if ("field" in scheme) return fieldTokens(scheme, delivery.body);
  const texts = "query" in scheme ? new URLSearchParams(queryOf(delivery)).getAll(scheme.query) : pathTexts(delivery);
  const [text] = texts;
  if (text === undefined || text.trim() === "") return "missing_signature";
  return texts.length > 1 ? "ambiguous_header" : [Buffer.from(text)];
}

function headerToken(
  { header, prefix = "", base64 }: Extract<TokenScheme, { readonly header: string }>,
  { headers }: Delivery,
): readonly Uint8Array[] | RefusalCause {
  const value = headers.get(header);
  if (value === undefined || value.trim() === "") return "missing_signature";
  if (headers.count(header) > 1) return "ambiguous_header";
  if (!value.startsWith(prefix)) return "malformed_signature";
  const text = value.slice(prefix.length);
  const bytes = base64 ? decodeStrict(text, "base64") : Buffer.from(text, "latin1");
  return bytes === undefined ? "malformed_signature" : [bytes];
}

/** The last segment of the path, behind the connection's id. */
function pathTexts({ target = "" }: Delivery): readonly string[] {
  const [path = ""] = target.split("?");
  try {
    return [decodeURIComponent(path.slice(path.lastIndexOf("/") + 1))];
  } catch {
    return [];
  }
}

function fieldTokens(
  { field, each }: Extract<TokenScheme, { readonly field: unknown }>,
  body: Uint8Array,
): readonly Uint8Array[] | RefusalCause {
  const json = jsonOf(body);
  const items = each === undefined ? [json] : readPath(json, each);
  if (!Array.isArray(items)) return "missing_signature";
  const texts = items.map((item) => readPath(item, field));
  if (texts.some((text) => typeof text !== "string" || text === "")) return "missing_signature";
  return texts.map((text) => Buffer.from(text as string));
}
