/**
 * What a signature scheme says, as data: where the signature stands, how it is written, which bytes
 * it covers and how the key comes out of the configured secret. Verifier and signer both read it, so
 * they cannot drift apart, and what a scheme authenticates follows from what it signs.
 */

/** How a digest or signature is written. Base64 is padded, base64url is not, hex may be of either case. */
export type Encoding = "hex" | "base64" | "base64url";

/** How the key comes out of the secret's text. `prefix` must be there and is cut off before decoding. */
export type KeyText =
  | { readonly from: "utf8" }
  | { readonly from: "hex" }
  | { readonly from: "base64"; readonly prefix?: string };

/**
 * How signatures stand in their header.
 *
 * - `single`: one signature is the whole value, after `prefix` where there is one (`sha256=<hex>`).
 * - `pairs`: `t=1,v1=aa,v1=bb`; every pair named `signature` counts, others are skipped.
 * - `versions`: the list of Standard Webhooks, `v1,<base64> v1a,<base64>`; other versions are skipped.
 */
export type SignatureGrammar =
  | { readonly kind: "single"; readonly prefix?: string }
  | { readonly kind: "pairs"; readonly separator: "," | ", " | ";"; readonly signature: string }
  | { readonly kind: "versions"; readonly version: string };

/** One piece of the signed bytes, in order. Headers and the timestamp count as they were sent. */
export type SignedPart = "body" | "timestamp" | { readonly literal: string } | { readonly header: string };

/** When the sender says it sent, and how far from the arrival that may be, on either side, inclusive. */
export interface TimestampRule {
  /** A header of its own, or a pair of the signature header. */
  readonly from: { readonly header: string } | { readonly pair: string };
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
}

/** A keyed hash over the signed parts (RFC 2104). */
export interface HmacScheme extends SignatureScheme {
  readonly kind: "hmac";
  readonly hash: "sha1" | "sha256" | "sha512";
}

/** An Ed25519 signature over the signed parts (RFC 8032). `key` reads the public key, 32 bytes. */
export interface Ed25519Scheme extends SignatureScheme {
  readonly kind: "ed25519";
  /** Reads the private key, for signing: the 32 byte seed, alone or with the public key after it. */
  readonly signingKey: KeyText;
}

/** The secret itself in a header. It says who sends, and authenticates nothing of what is sent. */
export interface TokenScheme {
  readonly kind: "token";
  readonly header: string;
  readonly prefix?: string;
}

/** How a sender proves itself, as data. */
export type Scheme = HmacScheme | Ed25519Scheme | TokenScheme;

/** What a scheme's signature covers: header names are lower case. */
export interface Authenticated {
  readonly body: boolean;
  readonly timestamp: boolean;
  readonly headers: readonly string[];
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
  const parts = scheme.kind === "token" ? [] : scheme.signed;
  return {
    body: parts.includes("body"),
    timestamp: parts.includes("timestamp"),
    headers: parts.flatMap((part) => (typeof part === "object" && "header" in part ? [part.header.toLowerCase()] : [])),
  };
}
