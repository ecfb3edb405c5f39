import { timingSafeEqual } from "node:crypto";
import { readPath } from "../domain/json.ts";
import { decodeStrict } from "./decode.ts";
import { type Delivery, jsonOf } from "./delivery.ts";
import { digestBytes, hmac, hmacRoom } from "./hmac.ts";
import type { KeyedFields } from "./keyring.ts";
import { timestampOf } from "./read-timestamp.ts";
import type { FieldsScheme } from "./scheme.ts";
import { skewProblem } from "./skew.ts";
import { miss, type Miss, type Verified } from "./verdict.ts";

/** Verifies signatures that stand in the body, over fields of it. One wrong item refuses them all. */
export function verifyFields({ scheme, keys, authenticated }: KeyedFields, delivery: Delivery): Verified | Miss {
  const json = jsonOf(delivery.body);
  const items = scheme.each === undefined ? [json] : readPath(json, scheme.each);
  if (!Array.isArray(items) || items.length === 0) return miss("missing_signature");
  const signed: { readonly message: Buffer; readonly signature: Buffer }[] = [];
  for (const item of items as readonly unknown[]) {
    const text = readPath(item, scheme.signature);
    if (text === undefined || text === "") return miss("missing_signature");
    const signature = typeof text === "string" ? decodeStrict(text, scheme.encoding) : undefined;
    const message = fieldsMessage(scheme, item);
    if (signature?.length !== digestBytes[scheme.hash] || message === undefined) return miss("malformed_signature");
    signed.push({ message, signature });
  }
  let matched: string | undefined;
  for (const { id, key } of keys) {
    let isRight = true;
    for (const { message, signature } of signed) {
      if (!timingSafeEqual(hmac(key, message), signature)) isRight = false;
    }
    if (isRight) matched ??= id;
  }
  if (matched === undefined) return miss("signature_mismatch");
  const rule = scheme.timestamp;
  const path = rule && "body" in rule.from ? rule.from.body : undefined;
  const timestamp = rule && path && timestampOf(rule, readPath(items[0], path));
  const late = rule && timestamp && skewProblem(rule, timestamp, delivery.arrivedAtMs);
  if (late !== undefined) return late;
  const timestampMs = typeof timestamp === "object" ? timestamp.ms : undefined;
  return { kind: "verified", secretId: matched, timestampMs, authenticated };
}

/** The signed fields of an item as text, after the room of an HMAC; `undefined` where one is no plain value. */
export function fieldsMessage({ hash, signed }: FieldsScheme, item: unknown): Buffer | undefined {
  const texts: string[] = [];
  for (const part of signed) {
    const value = "literal" in part ? part.literal : (readPath(item, part.field) ?? "");
    if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") return undefined;
    texts.push(String(value));
  }
  return Buffer.concat([Buffer.alloc(hmacRoom(hash)), Buffer.from(texts.join(""))]);
}
