import type { Authenticated } from "./scheme.ts";

/**
 * Why a delivery was refused, in the order in which verification gets there: of several schemes, the
 * refusal that got furthest is the one worth reporting. The timestamp is judged last, so that "too old"
 * is only ever said of a delivery whose signature is right.
 */
export const refusalCauses = [
  "no_usable_secret",
  "missing_signature",
  "ambiguous_header",
  "malformed_signature",
  "too_many_signatures",
  "missing_signed_header",
  "timestamp_malformed",
  "key_unknown",
  "signature_mismatch",
  "timestamp_too_old",
  "timestamp_in_future",
] as const;

export type RefusalCause = (typeof refusalCauses)[number];

/** What may be kept of a refused delivery: enough to tell body, secret, clock and proxy apart; nothing of the content. */
export interface RefusalFacts {
  readonly bodyBytes: number;
  /** The first 12 hex digits of the body's SHA-256. */
  readonly bodySha256: string;
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
  /** Characters in the signature header. */
  readonly signatureChars: number | undefined;
  /** Arrival minus the sender's timestamp; negative when the sender's clock is ahead. */
  readonly skewMs: number | undefined;
  /** The tolerance that `skewMs` broke. */
  readonly allowedMs: number | undefined;
  readonly secretIds: readonly string[];
}

export interface Verified {
  readonly kind: "verified";
  /** Names the secret that matched, across restarts and rotations, without telling anything of it. */
  readonly secretId: string;
  readonly timestampMs: number | undefined;
  readonly authenticated: Authenticated;
}

export interface Refused {
  readonly kind: "refused";
  readonly cause: RefusalCause;
  readonly facts: RefusalFacts;
}

export type Verdict = Verified | Refused;

const explanations: Readonly<Record<RefusalCause, string>> = {
  no_usable_secret: "the connection has no usable secret",
  missing_signature: "the signature header is missing or blank",
  ambiguous_header: "a header that may come once came twice",
  malformed_signature: "the signature header is not of the scheme's form",
  too_many_signatures: "there are more signatures than are tried",
  missing_signed_header: "a header that the signature covers is missing",
  timestamp_malformed: "the timestamp is missing or not of the scheme's form",
  key_unknown: "the key that it names is not known and could not be had",
  signature_mismatch: "no signature matches; the secret differs or the body was changed on its way",
  timestamp_too_old: "the timestamp is too old",
  timestamp_in_future: "the timestamp is in the future",
};

/**
 * One sentence for a log or an error.
 *
 * @example
 * ```ts no-run
 * explainRefusal(refused); // "Cannot verify signature: timestamp is 412 s old, allowed is 300 s"
 * ```
 */
export function explainRefusal({ cause, facts }: Refused): string {
  const { skewMs, allowedMs } = facts;
  if (skewMs === undefined || allowedMs === undefined) return `Cannot verify signature: ${explanations[cause]}`;
  const distance = `${Math.abs(skewMs) / 1_000} s ${skewMs < 0 ? "ahead" : "old"}`;
  return `Cannot verify signature: timestamp is ${distance}, allowed is ${allowedMs / 1_000} s`;
}

/** A refusal by one scheme, before the facts are gathered. */
export interface Miss {
  readonly kind: "miss";
  readonly cause: RefusalCause;
  readonly skewMs?: number | undefined;
  readonly allowedMs?: number | undefined;
  /** Names the key that would have to be fetched. */
  readonly wanted?: string | undefined;
}

export function miss(cause: RefusalCause, more: Omit<Miss, "kind" | "cause"> = {}): Miss {
  return { kind: "miss", cause, ...more };
}
