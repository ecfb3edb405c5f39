import { hash, timingSafeEqual } from "node:crypto";
import { checkSecrets } from "../verify/check-secrets.ts";
import type { DeliveryHeaders } from "../verify/delivery-headers.ts";

/** A request that may be a handshake. */
export interface HandshakeRequest {
  readonly method: string;
  readonly query: URLSearchParams;
  readonly headers: DeliveryHeaders;
}

/** What goes back for a handshake. */
export interface HandshakeAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A GET whose challenge is echoed when its token is ours. */
export interface ChallengeHandshake {
  readonly kind: "challenge";
  readonly tokenParam: string;
  readonly challengeParam: string;
  /** Without a usable token no challenge is echoed. */
  readonly token: string | undefined;
}

/** As data, or as a function that answers a handshake and gives `undefined` for any other request. */
export type Handshake = ChallengeHandshake | ((request: HandshakeRequest) => HandshakeAnswer | undefined);

/** No provider's challenge comes near; longer text is not ours to repeat. */
const challengeCharsMax = 1_024;

/**
 * Answers a handshake, or gives `undefined` for a request that is none. It stands before the event
 * path: nothing it answers ever becomes an event.
 *
 * A challenge is text of somebody unknown until the token matches. Even then it is returned as plain
 * text that no browser may take for anything else.
 *
 * @example
 * ```ts no-run
 * const answer = answerHandshake(provider.rules.handshake, { method: "GET", query: url.searchParams, headers });
 * ```
 */
export function answerHandshake(
  handshake: Handshake | undefined,
  request: HandshakeRequest,
): HandshakeAnswer | undefined {
  if (handshake === undefined) return undefined;
  return typeof handshake === "function" ? handshake(request) : answerChallenge(handshake, request);
}

function answerChallenge(
  handshake: ChallengeHandshake,
  { method, query }: HandshakeRequest,
): HandshakeAnswer | undefined {
  const challenges = query.getAll(handshake.challengeParam);
  const [challenge] = challenges;
  if (method !== "GET" || challenge === undefined) return undefined;
  const tokens = query.getAll(handshake.tokenParam);
  const isOurs = checkSecrets([handshake.token]).kind === "usable" && isSame(tokens[0] ?? "", handshake.token ?? "");
  if (!isOurs || tokens.length > 1) return plainText(403, "Token refused");
  if (challenges.length > 1 || challenge.length > challengeCharsMax) return plainText(400, "Challenge refused");
  return plainText(200, challenge);
}

/** Compares digests, which are of one length whatever was sent. */
function isSame(given: string, wanted: string): boolean {
  return timingSafeEqual(hash("sha256", given, "buffer"), hash("sha256", wanted, "buffer"));
}

function plainText(status: number, body: string): HandshakeAnswer {
  const headers = {
    "content-type": "text/plain; charset=utf-8",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
  };
  return { status, headers, body };
}
