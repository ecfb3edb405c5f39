import { constants, createPrivateKey, hash, type JsonWebKey, type KeyObject, sign as signBytes } from "node:crypto";
import { hmac, hmacKey, hmacRoom } from "./hmac.ts";
import { keyBytes, keyFormText } from "./key-bytes.ts";
import { timestampText } from "./read-timestamp.ts";
import type { HeaderScheme, HmacScheme, JwsScheme, Scheme, TokenScheme } from "./scheme.ts";
import { signedMessage, type PartValues } from "./signed-message.ts";
import { jwsDigest } from "./verify-jws.ts";

/** What a signer needs beside scheme and secret. */
export interface SigningInput {
  readonly body: Uint8Array;
  readonly timestampMs: number;
  /** Values of the headers that the signature covers, such as the event id's. */
  readonly headers?: Readonly<Record<string, string>>;
  /** By default POST. */
  readonly method?: string;
  /** The public URL with its query, where the signature covers it. */
  readonly url?: string;
}

/**
 * Signs a delivery the way a sender of this scheme does, and gives the headers that carry it. Derived
 * from the same data as the verifier; it proves nothing about a provider, whose own vectors do.
 *
 * A secret signs as it is configured. For public keys give the private one: the `whsk_` or hex text of
 * Ed25519, a PEM of ECDSA and RSA, a JWK of ES256; for a certificate the configured text, a line break
 * and the PEM.
 *
 * @throws TypeError when the secret is not of the scheme's form, or something that is signed has no value.
 * @example
 * ```ts
 * const scheme = { kind: "token", header: "x-token" } as const;
 * sign(scheme, "a long token", { body: Buffer.from("{}"), timestampMs: 0 }); // { "x-token": "a long token" }
 * ```
 */
export function sign(scheme: Scheme, secret: string, input: SigningInput): Record<string, string> {
  switch (scheme.kind) {
    case "token":
      return tokenHeaders(scheme, secret);
    case "fields":
      return {};
    case "jws":
      return { [scheme.header]: jws(scheme, secret, input) };
    case "hmac":
    case "ed25519":
    case "ecdsa":
    case "rsa":
      return signatureHeaders(scheme, secret, input);
  }
}

/** Whether a secret is of the form that signs under this scheme. */
export function canSign(scheme: Scheme, secret: string): boolean {
  if (scheme.kind === "token") return true;
  if (scheme.kind === "fields") return keyBytes(scheme.key, secret) !== undefined;
  if (scheme.kind === "jws") return scheme.algorithms[0] !== "ES256" || privateJwk(secret) !== undefined;
  return scheme.kind === "hmac" ? keyBytes(scheme.key, secret) !== undefined : privateKey(scheme, secret) !== undefined;
}

function tokenHeaders(scheme: TokenScheme, secret: string): Record<string, string> {
  if (!("header" in scheme)) return {};
  const text = scheme.base64 ? Buffer.from(secret).toString("base64") : secret;
  return { [scheme.header]: `${scheme.prefix ?? ""}${text}` };
}

function signatureHeaders(scheme: HeaderScheme, secret: string, input: SigningInput): Record<string, string> {
  const { timestamp: rule } = scheme;
  const timestamp = rule === undefined ? "" : timestampText(rule, input.timestampMs);
  const given = new Map(Object.entries(input.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]));
  const signed: Record<string, string> = {};
  const header = (name: string): string => {
    const value = given.get(name.toLowerCase());
    if (value === undefined) throw new TypeError(`Cannot sign: the signature covers header "${name}"; give its value`);
    signed[name] = value;
    return value;
  };
  const { body, method = "POST", url } = input;
  const [text = ""] = secret.split("\n");
  const signature = makeSignature(scheme, secret, { body, timestamp, header, method, url, secret: text });
  if (rule !== undefined && "header" in rule.from) signed[rule.from.header] = timestamp;
  return { ...signed, ...scheme.requires, [scheme.headers[0]]: signatureValue(scheme, signature, timestamp) };
}

function makeSignature(scheme: HeaderScheme, secret: string, values: PartValues): Buffer {
  const message = signedMessage(scheme.signed, values, scheme.kind === "hmac" ? hmacRoom(scheme.hash) : 0);
  if (message === undefined) {
    throw new TypeError("Cannot sign: the signature covers the public URL, or a part of a header; give both");
  }
  if (scheme.kind === "hmac") return hmac(hmacKeyOf(scheme, secret), message);
  const key = privateKey(scheme, secret);
  if (key === undefined) {
    throw new TypeError(`Cannot sign: the secret is not of the form of a signing key (${scheme.kind})`);
  }
  if (scheme.kind === "ed25519") return signBytes(null, message, key);
  return signBytes("sha256", message, scheme.kind === "rsa" ? { key, padding: paddings[scheme.padding] } : key);
}

const paddings = { pkcs1: constants.RSA_PKCS1_PADDING, pss: constants.RSA_PKCS1_PSS_PADDING } as const;

function hmacKeyOf(scheme: HmacScheme, secret: string): ReturnType<typeof hmacKey> {
  const bytes = keyBytes(scheme.key, secret);
  if (bytes === undefined) {
    throw new TypeError(`Cannot sign: the secret is not of the form of a signing key (${keyFormText(scheme.key)})`);
  }
  const key = hmacKey(scheme.hash, bytes);
  return scheme.construction === "prefix" ? { ...key, prefix: bytes } : key;
}

function privateKey(scheme: Exclude<HeaderScheme, HmacScheme>, secret: string): KeyObject | undefined {
  if (scheme.kind === "ed25519") {
    const bytes = keyBytes(scheme.signingKey, secret);
    const seed = bytes?.length === seedBytes || bytes?.length === 2 * seedBytes ? bytes.subarray(0, seedBytes) : null;
    if (seed === null) return undefined;
    return createPrivateKey({ key: Buffer.concat([privateKeyStart, seed]), format: "der", type: "pkcs8" });
  }
  const at = secret.indexOf("-----BEGIN ");
  try {
    const key = createPrivateKey(secret.slice(Math.max(at, 0)));
    return key.asymmetricKeyType === (scheme.kind === "rsa" ? "rsa" : "ec") ? key : undefined;
  } catch {
    return undefined;
  }
}

const seedBytes = 32;
/** The fixed start of a PrivateKeyInfo that holds an Ed25519 seed (RFC 8410). */
const privateKeyStart = Buffer.from("302e020100300506032b657004220420", "hex");

function signatureValue(scheme: HeaderScheme, signature: Buffer, timestamp: string): string {
  const text = signature.toString(scheme.encoding);
  const { grammar, timestamp: rule } = scheme;
  switch (grammar.kind) {
    case "single":
      return `${grammar.prefix ?? ""}${text}${grammar.suffix ?? ""}`;
    case "versions":
      return `${grammar.version},${text}`;
    case "pairs": {
      const pair =
        rule !== undefined && "pair" in rule.from ? `${rule.from.pair}=${timestamp}${grammar.separator}` : "";
      return `${pair}${grammar.signature}=${text}`;
    }
  }
}

function jws(scheme: JwsScheme, secret: string, { body, url, timestampMs }: SigningInput): string {
  const { algorithms, bodyClaim, urlClaim, issuer, timestamp } = scheme;
  const jwk = privateJwk(secret);
  const claims = {
    ...(issuer !== undefined && { iss: issuer }),
    ...(timestamp && "claim" in timestamp.from && { [timestamp.from.claim]: Math.floor(timestampMs / 1_000) }),
    ...(urlClaim !== undefined && { [urlClaim]: hash("sha256", url ?? "", "hex") }),
    ...(body.length > 0 && { [bodyClaim]: hash("sha256", body, "hex") }),
  };
  const head = { alg: algorithms[0], typ: "JWT", ...(jwk?.kid !== undefined && { kid: jwk.kid }) };
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const message = `${part(head)}.${part(claims)}`;
  return `${message}.${jwsSignature(algorithms[0], { jwk, secret, message }).toString("base64url")}`;
}

interface JwsSigning {
  readonly jwk: (JsonWebKey & { readonly kid?: string }) | undefined;
  readonly secret: string;
  readonly message: string;
}

function jwsSignature(algorithm: "ES256" | "HS256", { jwk, secret, message }: JwsSigning): Buffer {
  const bytes = Buffer.from(message);
  if (algorithm === "HS256") return jwsDigest(hmacKey("sha256", Buffer.from(secret)), bytes);
  if (jwk === undefined) throw new TypeError("Cannot sign: the secret is no private JWK");
  const key = createPrivateKey({ key: jwk, format: "jwk" });
  return signBytes("sha256", bytes, { key, dsaEncoding: "ieee-p1363" });
}

function privateJwk(secret: string): (JsonWebKey & { readonly kid?: string }) | undefined {
  try {
    const jwk = JSON.parse(secret) as JsonWebKey & { readonly kid?: string };
    return jwk.d === undefined ? undefined : jwk;
  } catch {
    return undefined;
  }
}
