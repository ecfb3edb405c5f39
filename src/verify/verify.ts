/**
 * Verification: bytes in, verdict out. It never throws on input, never changes a byte of it, and has no
 * way from "could not verify" to "verified".
 *
 * Every key of every scheme is tried whether or not an earlier one matched, and digests are compared in
 * constant time, so that the time of an answer does not tell which secret matched or how close a guess came.
 */
import { hash, timingSafeEqual, verify as verifyEd25519 } from "node:crypto";
import type { DeliveryHeaders } from "./delivery-headers.ts";
import { gatherFacts } from "./gather-facts.ts";
import { hmac, hmacRoom } from "./hmac.ts";
import type { KeyedEd25519, KeyedHmac, KeyedToken, Keyring } from "./keyring.ts";
import { readSignatures } from "./read-signatures.ts";
import { readTimestamp } from "./read-timestamp.ts";
import { signedMessage, type PartValues } from "./signed-message.ts";
import { refusalCauses, type RefusalCause, type Verdict, type Verified } from "./verdict.ts";

/** What verification reads of one HTTP request. */
export interface Delivery {
  readonly headers: DeliveryHeaders;
  /** The bytes as they arrived. */
  readonly body: Uint8Array;
  /** When the request arrived at the edge, so that waiting in a queue does not age it. */
  readonly arrivedAtMs: number;
}

/** A refusal by one scheme, before the facts are gathered. */
interface Miss {
  readonly kind: "miss";
  readonly cause: RefusalCause;
  readonly skewMs?: number | undefined;
  readonly allowedMs?: number | undefined;
}

/**
 * Verifies a delivery against a connection's keyring.
 *
 * @example
 * ```ts no-run
 * const verdict = verify(keyring, { headers: headersFromRaw(request.rawHeaders), body, arrivedAtMs: Date.now() });
 * if (verdict.kind === "refused") refusals.add(verdict.cause, verdict.facts);
 * ```
 */
export function verify(keyring: Keyring, delivery: Delivery): Verdict {
  let match: Verified | undefined;
  let furthest: Miss = miss("no_usable_secret");
  for (const entry of keyring.entries) {
    const found = entry.kind === "token" ? examineToken(entry, delivery) : examineSigned(entry, delivery);
    if (found.kind === "verified") match ??= found;
    else if (rank(found) > rank(furthest)) furthest = found;
  }
  return match ?? { kind: "refused", cause: furthest.cause, facts: gatherFacts(keyring, { ...delivery, ...furthest }) };
}

function examineSigned(entry: KeyedHmac | KeyedEd25519, delivery: Delivery): Verified | Miss {
  const { scheme, authenticated } = entry;
  const { headers, body, arrivedAtMs } = delivery;
  const read = readSignatures(scheme, headers);
  if (typeof read === "string") return miss(read);
  for (const name of authenticated.headers) {
    if (headers.count(name) > 1) return miss("ambiguous_header");
    if (!headers.get(name)?.trim()) return miss("missing_signed_header");
  }
  const rule = scheme.timestamp;
  const timestamp = rule === undefined ? undefined : readTimestamp(rule, headers, read.timestamps);
  if (typeof timestamp === "string") return miss(timestamp);
  const skewMs = timestamp === undefined ? undefined : arrivedAtMs - timestamp.ms;
  const values = { body, timestamp: timestamp?.text ?? "", header: (name: string) => headers.get(name) ?? "" };
  const secretId =
    entry.kind === "hmac" ? matchHmac(entry, values, read.signatures) : matchEd25519(entry, values, read.signatures);
  if (secretId === undefined) return miss("signature_mismatch", skewMs);
  if (rule !== undefined && skewMs !== undefined) {
    if (skewMs > rule.pastMs) return miss("timestamp_too_old", skewMs, rule.pastMs);
    if (-skewMs > rule.futureMs) return miss("timestamp_in_future", skewMs, rule.futureMs);
  }
  return { kind: "verified", secretId, timestampMs: timestamp?.ms, authenticated };
}

function matchHmac(
  { scheme, keys }: KeyedHmac,
  values: PartValues,
  signatures: readonly Uint8Array[],
): string | undefined {
  const message = signedMessage(scheme.signed, values, hmacRoom(scheme.hash));
  let matched: string | undefined;
  for (const { id, key } of keys) {
    const digest = hmac(key, message);
    for (const signature of signatures) {
      if (timingSafeEqual(digest, signature)) matched ??= id;
    }
  }
  return matched;
}

function matchEd25519(
  { scheme, keys }: KeyedEd25519,
  values: PartValues,
  signatures: readonly Uint8Array[],
): string | undefined {
  const message = signedMessage(scheme.signed, values, 0);
  let matched: string | undefined;
  for (const { id, key } of keys) {
    for (const signature of signatures) {
      if (verifyEd25519(null, message, key, signature)) matched ??= id;
    }
  }
  return matched;
}

function examineToken({ scheme, keys, authenticated }: KeyedToken, { headers }: Delivery): Verified | Miss {
  const value = headers.get(scheme.header);
  const prefix = scheme.prefix ?? "";
  if (value === undefined || value.trim() === "") return miss("missing_signature");
  if (headers.count(scheme.header) > 1) return miss("ambiguous_header");
  if (!value.startsWith(prefix)) return miss("malformed_signature");
  const digest = hash("sha256", Buffer.from(value.slice(prefix.length), "latin1"), "buffer");
  let matched: string | undefined;
  for (const { id, key } of keys) {
    if (timingSafeEqual(digest, key)) matched ??= id;
  }
  if (matched === undefined) return miss("signature_mismatch");
  return { kind: "verified", secretId: matched, timestampMs: undefined, authenticated };
}

function miss(cause: RefusalCause, skewMs?: number, allowedMs?: number): Miss {
  return { kind: "miss", cause, skewMs, allowedMs };
}

function rank({ cause }: Miss): number {
  return refusalCauses.indexOf(cause);
}
