/**
 * What a signature scheme says, as data: where the signature stands, how it is written, which bytes
 * it covers and how the key comes out of the configured secret. Verifier and signer both read it, so
 * they cannot drift apart, and what a scheme authenticates follows from what it signs.
 */
import type { JsonPath } from "../domain/json.ts";

/** How a digest or signature is written. Base64 is padded, base64url is not, hex may be of either case. */
export type Encoding = "hex" | "base64" | "base64url";

/**
 * How the key comes out of the secret's text.
 *
 * - `utf8`: the text's bytes; `as` changes the text first, to NFKD or by reading HTML's five entities.
 * - `base64`: `prefix` must be there and is cut off; with `orText`, a secret without it is its text's bytes.
 * - `spki`: a public key as PEM or as base64 of its DER (RFC 5280).
 */
export type KeyText =
  | { readonly from: "utf8"; readonly as?: "nfkd" | "html" }
  | { readonly from: "hex" }
  | { readonly from: "base64"; readonly prefix?: string; readonly orText?: true }
  | { readonly from: "spki" };

/**
 * How signatures stand in their header.
 *
 * - `single`: one signature is the whole value, between `prefix` and `suffix` (`sha256=<hex>`).
 * - `pairs`: `t=1,v1=aa,v1=bb`; every pair named `signature` counts, others are skipped.
 * - `versions`: the list of Standard Webhooks, `v1,<base64> v1a,<base64>`; other versions are skipped.
 */
export type SignatureGrammar =
  | { readonly kind: "single"; readonly prefix?: string; readonly suffix?: string }
  | { readonly kind: "pairs"; readonly separator: "," | ", " | ";"; readonly signature: string }
  | { readonly kind: "versions"; readonly version: string };

/**
 * One piece of the signed bytes, in order. Headers and the timestamp count as they were sent.
 *
 * - `url`: the public URL as configured, with the query as it came. The name of a host in a header is
 *   anybody's word and counts for nothing.
 * - `{ url: ... }`: the same with a port, or without one, for senders that write it otherwise.
 * - `crc32`: the body's CRC-32 in decimal, which is no proof of the body.
 * - `secret`: the secret's own text, for schemes whose key stands elsewhere.
 * - `form`: each name and value of a form body, sorted; of any other body nothing, but then the URL has to
 *   carry the body's SHA-256 in the named parameter.
 * - `header` with `after`: the header's value behind that text, which must be there.
 */
export type SignedPart =
  | "body"
  | "timestamp"
  | "method"
  | "url"
  | "crc32"
  | "secret"
  | { readonly url: "with_port" | "without_port" }
  | { readonly form: { readonly orBodyHashParam: string } }
  | { readonly literal: string }
  | { readonly header: string; readonly after?: string };

/** When the sender says it sent, and how far from the arrival that may be, on either side, inclusive. */
export interface TimestampRule {
  /** A header of its own, a pair of the signature header, a field of the body, or a claim of a token. */
  readonly from:
    | { readonly header: string }
    | { readonly pair: string }
    | { readonly body: JsonPath }
    | { readonly claim: string };
  /** Whole seconds, whole milliseconds, or a date and time with an offset (RFC 3339). */
  readonly unit: "s" | "ms" | "rfc3339";
  readonly pastMs: number;
  readonly futureMs: number;
}

interface SignatureScheme {
  /** Any of these may carry signatures; at least one must be there, each at most once. */
  readonly headers: readonly [string, ...string[]];
  readonly grammar: SignatureGrammar;
  readonly encoding: Encoding;
  readonly key: KeyText;
  readonly signed: readonly SignedPart[];
  readonly timestamp?: TimestampRule;
  /** Headers that have to say this, such as the name of the algorithm: another one is not verified as this. */
  readonly requires?: Readonly<Record<string, string>>;
}

/** A keyed hash over the signed parts (RFC 2104). */
export interface HmacScheme extends SignatureScheme {
  readonly kind: "hmac";
  readonly hash: "sha1" | "sha256" | "sha512";
  /** `prefix` hashes key and message one after the other, as some did before they used HMAC. */
  readonly construction?: "prefix";
}

/** An Ed25519 signature over the signed parts (RFC 8032). `key` reads the public key, 32 bytes. */
export interface Ed25519Scheme extends SignatureScheme {
  readonly kind: "ed25519";
  /** Reads the private key, for signing: the 32 byte seed, alone or with the public key after it. */
  readonly signingKey: KeyText;
}

/** An ECDSA signature on P-256 with SHA-256, in DER (FIPS 186-5, RFC 3279). */
export interface EcdsaScheme extends SignatureScheme {
  readonly kind: "ecdsa";
}

/** An RSA signature with SHA-256 (RFC 8017). The secret is the public key, or the key is in a certificate. */
export interface RsaScheme extends SignatureScheme {
  readonly kind: "rsa";
  readonly padding: "pkcs1" | "pss";
  /**
   * The header that names the certificate's URL, and the hosts that may have one: each with its
   * subdomains, over https. The certificate has to be valid and of one of these hosts too, and where the
   * connection names authorities, lead to one.
   */
  readonly certificate?: { readonly urlHeader: string; readonly hosts: readonly [string, ...string[]] };
}

/**
 * The secret itself, in a header, the query, the path behind the connection's id, or each item of the
 * body. It says who sends, and authenticates nothing of what is sent.
 */
export type TokenScheme = { readonly kind: "token" } & (
  | {
      readonly header: string;
      readonly prefix?: string;
      /** The header has the secret in base64, as `user:password` stands in Basic authentication (RFC 7617). */
      readonly base64?: true;
    }
  | { readonly query: string }
  | { readonly path: true }
  | { readonly field: JsonPath; readonly each?: JsonPath }
);

/** A keyed hash over fields of the body that stands in the body itself. What else is there is not covered. */
export interface FieldsScheme {
  readonly kind: "fields";
  readonly hash: "sha1" | "sha256" | "sha512";
  readonly encoding: Encoding;
  readonly key: KeyText;
  /** Where items stand that are signed one by one; all must be right. By default the body is one. */
  readonly each?: JsonPath;
  readonly signature: JsonPath;
  /** A field that is missing, or null, counts as no text. */
  readonly signed: readonly ({ readonly field: JsonPath } | { readonly literal: string })[];
  readonly timestamp?: TimestampRule;
}

/** A JSON Web Token in a header (RFC 7519, compact JWS of RFC 7515) whose claims hold digests of what it covers. */
export interface JwsScheme {
  readonly kind: "jws";
  readonly header: string;
  /** What is accepted; what the token itself says only chooses among them. All HMAC, or all ES256. */
  readonly algorithms: readonly ["ES256"] | readonly ["HS256"] | readonly ["HS256", "HS512"];
  /** The claims that hold the SHA-256 of body and URL, in hex. Without a body there need be none of it. */
  readonly bodyClaim: string;
  readonly urlClaim?: string;
  readonly issuer?: string;
  readonly timestamp?: TimestampRule;
  /** Keys are asked for by the id in the token's header, beside those that are configured as JWK. */
  readonly fetchesKeys?: true;
}

/** Schemes whose signature stands in a header, over parts of the request. */
export type HeaderScheme = HmacScheme | Ed25519Scheme | EcdsaScheme | RsaScheme;

/** How a sender proves itself, as data. */
export type Scheme = HeaderScheme | TokenScheme | FieldsScheme | JwsScheme;

/** What a scheme's signature covers: header names are lower case. */
export interface Authenticated {
  readonly body: boolean;
  readonly timestamp: boolean;
  readonly headers: readonly string[];
  /** Where not the whole body is covered: the fields that are, within their item. */
  readonly fields?: readonly JsonPath[];
}

/**
 * What a valid signature under this scheme proves.
 *
 * @example
 * ```ts
 * authenticatedBy({ kind: "token", header: "x-token" }); // { body: false, timestamp: false, headers: [] }
 * ```
 */
export function authenticatedBy(scheme: Scheme): Authenticated {
  switch (scheme.kind) {
    case "token":
      return { body: false, timestamp: false, headers: [] };
    case "jws":
      return { body: true, timestamp: scheme.timestamp !== undefined, headers: [scheme.header.toLowerCase()] };
    case "fields": {
      const fields = scheme.signed.flatMap((part) => ("field" in part ? [part.field] : []));
      const from = scheme.timestamp?.from;
      return { body: false, timestamp: from !== undefined && "body" in from, headers: [], fields };
    }
    case "hmac":
    case "ed25519":
    case "ecdsa":
    case "rsa":
      return {
        body: scheme.signed.some((part) => part === "body" || (typeof part === "object" && "form" in part)),
        timestamp: scheme.signed.includes("timestamp"),
        headers: scheme.signed.flatMap((part) =>
          typeof part === "object" && "header" in part ? [part.header.toLowerCase()] : [],
        ),
      };
  }
}

/** The headers that a scheme reads, signed ones included. */
export function headersOf(scheme: Scheme): readonly string[] {
  if (scheme.kind === "fields") return [];
  if (scheme.kind === "token") return "header" in scheme ? [scheme.header] : [];
  if (scheme.kind === "jws") return [scheme.header];
  const from = scheme.timestamp?.from;
  return [
    ...scheme.headers,
    ...(from !== undefined && "header" in from ? [from.header] : []),
    ...Object.keys(scheme.requires ?? {}),
    ...(scheme.kind === "rsa" && scheme.certificate ? [scheme.certificate.urlHeader] : []),
    ...authenticatedBy(scheme).headers,
  ];
}

/** Whether a scheme covers the public URL, which a connection then has to know. */
export function signsUrl(scheme: Scheme): boolean {
  if (scheme.kind === "token" || scheme.kind === "fields") return false;
  if (scheme.kind === "jws") return scheme.urlClaim !== undefined;
  return scheme.signed.some((part) => part === "url" || (typeof part === "object" && "url" in part));
}
