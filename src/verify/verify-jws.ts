import { hash, timingSafeEqual, verify as verifySignature } from "node:crypto";
import { decodeStrict } from "./decode.ts";
import { type Delivery, jsonOf, queryOf } from "./delivery.ts";
import { hmac, type HmacKey, hmacRoom } from "./hmac.ts";
import type { JwsKey, KeyedJws } from "./keyring.ts";
import { timestampOf } from "./read-timestamp.ts";
import type { JwsScheme } from "./scheme.ts";
import { skewProblem } from "./skew.ts";
import { miss, type Miss, type RefusalCause, type Verified } from "./verdict.ts";

const charsMax = 4_096;
/** For `nbf` and `exp`, which say nothing of the distance that clocks may have. */
const leewayMs = 30_000;

interface Token {
  readonly algorithm: string;
  readonly keyId: string;
  readonly claims: Readonly<Record<string, unknown>>;
  readonly message: Buffer;
  readonly signature: Buffer;
}

/** Verifies a token and that it speaks of this body and URL. The token's own word never chooses how it is checked. */
export function verifyJws(entry: KeyedJws, delivery: Delivery, publicUrl: string | undefined): Verified | Miss {
  const { scheme, authenticated } = entry;
  const value = delivery.headers.get(scheme.header);
  if (value === undefined || value.trim() === "") return miss("missing_signature");
  if (delivery.headers.count(scheme.header) > 1) return miss("ambiguous_header");
  const token = value.length > charsMax ? undefined : readToken(value);
  if (token === undefined || !(scheme.algorithms as readonly string[]).includes(token.algorithm)) {
    return miss("malformed_signature");
  }
  const secretId = matchToken(entry, token, delivery);
  if (typeof secretId !== "string") return secretId;
  const problem = claimProblem(scheme, token, { delivery, url: publicUrl && publicUrl + queryOf(delivery) });
  if (problem !== undefined) return miss(problem);
  const rule = scheme.timestamp;
  const timestamp = rule && timestampOf(rule, "claim" in rule.from ? token.claims[rule.from.claim] : undefined);
  const late = rule && timestamp && skewProblem(rule, timestamp, delivery.arrivedAtMs);
  if (late !== undefined) return late;
  return {
    kind: "verified",
    secretId,
    timestampMs: typeof timestamp === "object" ? timestamp.ms : undefined,
    authenticated,
  };
}

function readToken(text: string): Token | undefined {
  const [head = "", payload = "", signed = "", ...more] = text.split(".");
  const header = objectOf(head);
  const claims = objectOf(payload);
  const signature = decodeStrict(signed, "base64url");
  // A token that asks for extensions to be understood must not be taken without them.
  const isWhole = signature !== undefined && more.length === 0;
  if (!isWhole || header === undefined || claims === undefined || "crit" in header) return undefined;
  const { alg, kid } = header;
  if (typeof alg !== "string") return undefined;
  const message = Buffer.from(`${head}.${payload}`);
  return { algorithm: alg, keyId: typeof kid === "string" ? kid : "", claims, message, signature };
}

function objectOf(part: string): Readonly<Record<string, unknown>> | undefined {
  const bytes = decodeStrict(part, "base64url");
  const json = bytes && jsonOf(bytes);
  return typeof json === "object" && json !== null ? (json as Record<string, unknown>) : undefined;
}

function matchToken({ keys, fetched }: KeyedJws, token: Token, { arrivedAtMs }: Delivery): string | Miss {
  let matched: string | undefined;
  for (const { id, key } of keys) {
    if (isSignedBy(key, token)) matched ??= id;
  }
  if (matched !== undefined) return matched;
  if (fetched === null || token.keyId === "") return miss("signature_mismatch");
  const found = fetched.get(token.keyId, arrivedAtMs);
  if (found === undefined) return miss("key_unknown", { wanted: token.keyId });
  if (found === "missing") return miss("key_unknown");
  const isRight = isSignedBy({ public: found, id: token.keyId }, token);
  return isRight ? hash("sha256", token.keyId, "hex").slice(0, 8) : miss("signature_mismatch");
}

function isSignedBy(key: JwsKey, { algorithm, keyId, message, signature }: Token): boolean {
  if ("public" in key) {
    const isNamed = key.id === undefined || key.id === keyId;
    return isNamed && verifySignature("sha256", message, { key: key.public, dsaEncoding: "ieee-p1363" }, signature);
  }
  const digest = jwsDigest(key.hmac[algorithm as "HS256" | "HS512"], message);
  return digest.length === signature.length && timingSafeEqual(digest, signature);
}

/** The HMAC of a token's signing input. */
export function jwsDigest(key: HmacKey, message: Uint8Array): Buffer {
  return hmac(key, Buffer.concat([Buffer.alloc(hmacRoom(key.hash)), message]));
}

function claimProblem(
  { bodyClaim, urlClaim, issuer }: JwsScheme,
  { claims }: Token,
  { delivery, url = "" }: { readonly delivery: Delivery; readonly url: string | undefined },
): RefusalCause | undefined {
  const { body, arrivedAtMs } = delivery;
  const isBody = claims[bodyClaim] === undefined ? body.length === 0 : isDigest(claims[bodyClaim], body);
  const isUrl = urlClaim === undefined || isDigest(claims[urlClaim], url);
  if (!isBody || !isUrl || (issuer !== undefined && claims["iss"] !== issuer)) return "signature_mismatch";
  const { nbf, exp } = claims;
  if (nbf !== undefined && !(typeof nbf === "number" && nbf * 1_000 <= arrivedAtMs + leewayMs)) {
    return "timestamp_in_future";
  }
  const isOver = exp !== undefined && !(typeof exp === "number" && exp * 1_000 > arrivedAtMs - leewayMs);
  return isOver ? "timestamp_too_old" : undefined;
}

function isDigest(claim: unknown, of: Uint8Array | string): boolean {
  return typeof claim === "string" && claim.toLowerCase() === hash("sha256", of, "hex");
}
