import { constants, type KeyObject, timingSafeEqual, verify as verifySignature } from "node:crypto";
import { readPath } from "../domain/json.ts";
import { type Delivery, jsonOf, queryOf } from "./delivery.ts";
import { hmac, hmacRoom } from "./hmac.ts";
import type { KeyedCertified, KeyedHmac, KeyedPublic } from "./keyring.ts";
import { type CertifiedKey, isKeyUrl } from "./public-keys.ts";
import { readSignatures, type SignatureHeaders } from "./read-signatures.ts";
import { readTimestamp, type Timestamp, timestampOf } from "./read-timestamp.ts";
import type { HeaderScheme, TimestampRule } from "./scheme.ts";
import { signedMessage, type PartValues } from "./signed-message.ts";
import { skewProblem } from "./skew.ts";
import { miss, type Miss, type RefusalCause, type Verified } from "./verdict.ts";

/** Verifies signatures that stand in a header. */
export function verifyHeader(
  entry: KeyedHmac | KeyedPublic | KeyedCertified,
  delivery: Delivery,
  publicUrl: string | undefined,
): Verified | Miss {
  const { scheme, authenticated } = entry;
  const { headers, body, arrivedAtMs, method = "POST" } = delivery;
  const read = readSignatures(scheme, headers);
  if (typeof read === "string") return miss(read);
  for (const name of authenticated.headers) {
    if (headers.count(name) > 1) return miss("ambiguous_header");
    if (!headers.get(name)?.trim()) return miss("missing_signed_header");
  }
  for (const [name, value] of Object.entries(scheme.requires ?? {})) {
    if (headers.count(name) > 1) return miss("ambiguous_header");
    if (headers.get(name) !== value) return miss("malformed_signature");
  }
  const early = earlyTimestamp(scheme, delivery, read);
  if (typeof early === "string") return miss(early);
  const values: PartValues = {
    body,
    timestamp: early?.text ?? "",
    header: (name) => headers.get(name) ?? "",
    method,
    url: publicUrl && publicUrl + queryOf(delivery),
    secret: "",
  };
  const secretId = match(entry, { values, read, delivery });
  if (secretId === undefined) return miss("signature_mismatch", { skewMs: early && arrivedAtMs - early.ms });
  if (typeof secretId === "object") return secretId;
  const { timestamp: rule } = scheme;
  const timestamp = rule === undefined ? undefined : (early ?? bodyTimestamp(rule, body));
  const late = rule && timestamp && skewProblem(rule, timestamp, arrivedAtMs);
  if (late !== undefined) return late;
  return { kind: "verified", secretId, timestampMs: (timestamp as Timestamp | undefined)?.ms, authenticated };
}

/** A timestamp that is signed by itself is needed before the signature is looked at; one in the body only after. */
function earlyTimestamp(
  { timestamp: rule }: HeaderScheme,
  { headers }: Delivery,
  read: SignatureHeaders,
): Timestamp | RefusalCause | undefined {
  return rule === undefined || "body" in rule.from ? undefined : readTimestamp(rule, headers, read.timestamps);
}

function bodyTimestamp(rule: TimestampRule, body: Uint8Array): Timestamp | RefusalCause {
  return timestampOf(rule, "body" in rule.from ? readPath(jsonOf(body), rule.from.body) : undefined);
}

interface Matching {
  readonly values: PartValues;
  readonly read: SignatureHeaders;
  readonly delivery: Delivery;
}

function match(entry: KeyedHmac | KeyedPublic | KeyedCertified, matching: Matching): string | Miss | undefined {
  switch (entry.kind) {
    case "hmac":
      return matchHmac(entry, matching);
    case "public":
      return matchPublic(entry, matching);
    case "certified":
      return matchCertified(entry, matching);
  }
}

function matchHmac({ scheme, keys }: KeyedHmac, { values, read }: Matching): string | undefined {
  const message = signedMessage(scheme.signed, values, hmacRoom(scheme.hash));
  if (message === undefined) return undefined;
  let matched: string | undefined;
  for (const { id, key } of keys) {
    const digest = hmac(key, message);
    for (const signature of read.signatures) {
      if (timingSafeEqual(digest, signature)) matched ??= id;
    }
  }
  return matched;
}

function matchPublic({ scheme, keys }: KeyedPublic, { values, read }: Matching): string | undefined {
  const message = signedMessage(scheme.signed, values, 0);
  if (message === undefined) return undefined;
  let matched: string | undefined;
  for (const { id, key } of keys) {
    for (const signature of read.signatures) {
      if (holds(scheme, { key, message, signature })) matched ??= id;
    }
  }
  return matched;
}

function holds(
  scheme: HeaderScheme,
  { key, message, signature }: { readonly key: KeyObject; readonly message: Buffer; readonly signature: Uint8Array },
): boolean {
  if (scheme.kind === "ed25519") return verifySignature(null, message, key, signature);
  return verifySignature(
    "sha256",
    message,
    scheme.kind === "rsa" ? { key, padding: paddings[scheme.padding] } : key,
    signature,
  );
}

const paddings = { pkcs1: constants.RSA_PKCS1_PADDING, pss: constants.RSA_PKCS1_PSS_PADDING } as const;

/** The secrets are part of what is signed; the key is in the certificate that the delivery names. */
function matchCertified(entry: KeyedCertified, { values, read, delivery }: Matching): string | Miss | undefined {
  const { scheme, keys } = entry;
  const certified = certificateFor(entry, delivery);
  if ("kind" in certified) return certified;
  let matched: string | undefined;
  for (const { id, key: secret } of keys) {
    const message = signedMessage(scheme.signed, { ...values, secret }, 0);
    for (const signature of read.signatures) {
      if (message !== undefined && holds(scheme, { key: certified.key, message, signature })) matched ??= id;
    }
  }
  return matched;
}

function certificateFor(
  { hosts, urlHeader, certificates }: KeyedCertified,
  { headers, arrivedAtMs }: Delivery,
): CertifiedKey | Miss {
  if (headers.count(urlHeader) > 1) return miss("ambiguous_header");
  const url = headers.get(urlHeader);
  if (url === undefined) return miss("missing_signed_header");
  if (!isKeyUrl(url, hosts)) return miss("key_unknown");
  const found = certificates.get(url, arrivedAtMs);
  if (found === undefined) return miss("key_unknown", { wanted: url });
  const isValid = found !== "missing" && found.fromMs <= arrivedAtMs && arrivedAtMs <= found.untilMs;
  return isValid ? found : miss("key_unknown");
}
