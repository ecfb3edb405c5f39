import { hash, timingSafeEqual } from "node:crypto";
import { type Json, type JsonPath, readPath } from "../domain/json.ts";
import { checkSecrets } from "../verify/check-secrets.ts";
import type { DeliveryHeaders } from "../verify/delivery-headers.ts";
import { type Delivery, jsonOf } from "../verify/delivery.ts";
import { hmac, type HmacKey, hmacRoom } from "../verify/hmac.ts";
import type { Keyring } from "../verify/keyring.ts";
import { verify } from "../verify/verify.ts";

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

/** A challenge in the query, which is echoed: after a token that has to be ours, where the provider sends one. */
export interface ChallengeHandshake {
  readonly kind: "challenge";
  /** By default GET. */
  readonly method?: "GET" | "POST";
  readonly challengeParam: string;
  readonly tokenParam?: string;
  /** By default the connection's `handshake.token`. Without a usable one no challenge is echoed. */
  readonly token?: string | undefined;
}

/** A request that only wants to know that somebody is there. */
export interface PresenceHandshake {
  readonly kind: "presence";
  readonly method: "HEAD";
}

/** A question in a signed body, known by one field. It is answered after its own signature is found right. */
export interface QuestionHandshake {
  readonly kind: "question";
  readonly when: { readonly path: JsonPath; readonly is: Json };
  /** `keyed` gives the HMAC of a text, in hex, under the secret that signed the question. */
  readonly answer: (question: unknown, keyed: (text: string) => string) => HandshakeAnswer | undefined;
}

/** An unsigned note whose whole body is of a form that no event has. It is answered 200 and nothing else. */
export interface NoteHandshake {
  readonly kind: "note";
  readonly pattern: RegExp;
}

/**
 * The secret itself, sent once, in a header or as the one member of the body. Whether it is taken is for
 * the connection's `handshake.onSecret` to say: anybody can send one.
 */
export type SecretHandshake = { readonly kind: "secret" } & (
  | { /** Sent back in the answer. */ readonly header: string }
  | { readonly member: string }
);

/** As data, or as a function that answers a handshake and gives `undefined` for any other request. */
export type Handshake =
  | ChallengeHandshake
  | PresenceHandshake
  | QuestionHandshake
  | NoteHandshake
  | SecretHandshake
  | ((request: HandshakeRequest) => HandshakeAnswer | undefined);

/** What of a connection's own a handshake may need. */
export interface HandshakeSettings {
  /** The token that the provider was given, for those that repeat one in their challenge. */
  readonly token?: string | undefined;
  /** Takes a secret that a provider sends once; say `true` only while a subscription of your own is being made. */
  readonly onSecret?: ((secret: string) => boolean | Promise<boolean>) | undefined;
}

/** What a provider's handshakes are. */
export type Handshakes = Handshake | readonly Handshake[] | undefined;

/** No provider's challenge comes near; longer text is not ours to repeat. */
const challengeCharsMax = 1_024;
/** Bodies of handshakes are small; larger ones need not be looked at. */
const greetingBytesMax = 4_096;

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
  handshakes: Handshakes,
  request: HandshakeRequest,
  settings: HandshakeSettings = {},
): HandshakeAnswer | undefined {
  for (const handshake of listed(handshakes)) {
    const answer = answerBefore(handshake, request, settings);
    if (answer !== undefined) return answer;
  }
  return undefined;
}

/** Whether a handshake can only be told from an event by its body. */
export function greetsByBody(handshakes: Handshakes): boolean {
  return listed(handshakes).some(
    (each) => typeof each === "object" && ["question", "note", "secret"].includes(each.kind),
  );
}

/**
 * Answers a handshake that is known by its body, before that body goes anywhere else. A question whose
 * signature is wrong is no handshake; it goes the way of every delivery, which refuses it.
 */
export async function answerGreeting(
  handshakes: Handshakes,
  delivery: Delivery,
  { keyring, onSecret }: HandshakeSettings & { readonly keyring: Keyring },
): Promise<HandshakeAnswer | undefined> {
  for (const handshake of listed(handshakes)) {
    if (typeof handshake === "function") continue;
    const answer =
      handshake.kind === "secret"
        ? await answerSecret(handshake, delivery, onSecret)
        : answerByBody(handshake, delivery, keyring);
    if (answer !== undefined) return answer;
  }
  return undefined;
}

function listed(handshakes: Handshakes): readonly Handshake[] {
  if (handshakes === undefined) return [];
  return Array.isArray(handshakes) ? (handshakes as readonly Handshake[]) : [handshakes as Handshake];
}

function answerBefore(
  handshake: Handshake,
  request: HandshakeRequest,
  settings: HandshakeSettings,
): HandshakeAnswer | undefined {
  if (typeof handshake === "function") return handshake(request);
  if (handshake.kind === "challenge") return answerChallenge(handshake, request, settings);
  const isPresence = handshake.kind === "presence" && request.method === handshake.method;
  return isPresence ? { status: 200, headers: {}, body: "" } : undefined;
}

function answerByBody(handshake: Handshake, delivery: Delivery, keyring: Keyring): HandshakeAnswer | undefined {
  if (typeof handshake === "function" || delivery.body.length > greetingBytesMax) return undefined;
  if (handshake.kind === "note") {
    return handshake.pattern.test(Buffer.from(delivery.body).toString("latin1")) ? plainText(200, "") : undefined;
  }
  return handshake.kind === "question" ? answerQuestion(handshake, delivery, keyring) : undefined;
}

function answerQuestion(
  { when, answer }: QuestionHandshake,
  delivery: Delivery,
  keyring: Keyring,
): HandshakeAnswer | undefined {
  const json = jsonOf(delivery.body);
  if (readPath(json, when.path) !== when.is) return undefined;
  const verdict = verify(keyring, delivery);
  if (verdict.kind !== "verified") return undefined;
  const key = keyring.entries
    .flatMap((entry) => (entry.kind === "hmac" ? entry.keys : []))
    .find(({ id }) => id === verdict.secretId)?.key;
  return answer(json, (text) => (key === undefined ? "" : keyedHex(key, text)));
}

function keyedHex(key: HmacKey, text: string): string {
  return hmac(key, Buffer.concat([Buffer.alloc(hmacRoom(key.hash)), Buffer.from(text)])).toString("hex");
}

async function answerSecret(
  handshake: SecretHandshake,
  { headers, body }: Delivery,
  onSecret: HandshakeSettings["onSecret"],
): Promise<HandshakeAnswer | undefined> {
  const secret = "header" in handshake ? headers.get(handshake.header) : onlyMember(body, handshake.member);
  if (secret === undefined) return undefined;
  const isUsable = checkSecrets([secret]).kind === "usable" && secret.length <= challengeCharsMax;
  if (!isUsable || !(await onSecret?.(secret))) return plainText(403, "Secret refused");
  return { status: 200, headers: "header" in handshake ? { [handshake.header]: secret } : {}, body: "" };
}

/** The text of a body's member, where it has no other: an event has more. */
function onlyMember(body: Uint8Array, member: string): string | undefined {
  if (body.length > greetingBytesMax) return undefined;
  const json = jsonOf(body);
  if (typeof json !== "object" || json === null || Object.keys(json).length !== 1) return undefined;
  const value = readPath(json, [member]);
  return typeof value === "string" ? value : undefined;
}

function answerChallenge(
  handshake: ChallengeHandshake,
  { method, query }: HandshakeRequest,
  settings: HandshakeSettings,
): HandshakeAnswer | undefined {
  const challenges = query.getAll(handshake.challengeParam);
  const [challenge] = challenges;
  if (method !== (handshake.method ?? "GET") || challenge === undefined) return undefined;
  const { tokenParam, token = settings.token } = handshake;
  if (tokenParam !== undefined && !isOurs(query.getAll(tokenParam), token)) return plainText(403, "Token refused");
  if (challenges.length > 1 || challenge.length > challengeCharsMax) return plainText(400, "Challenge refused");
  return plainText(200, challenge);
}

function isOurs(given: readonly string[], token: string | undefined): boolean {
  const isUsable = checkSecrets([token]).kind === "usable";
  return isUsable && given.length === 1 && isSame(given[0] ?? "", token ?? "");
}

/** Compares digests, which are of one length whatever was sent. */
function isSame(given: string, wanted: string): boolean {
  return timingSafeEqual(hash("sha256", given, "buffer"), hash("sha256", wanted, "buffer"));
}

/** Text that no browser takes for anything else. */
export function plainText(status: number, body: string): HandshakeAnswer {
  const headers = {
    "content-type": "text/plain; charset=utf-8",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
  };
  return { status, headers, body };
}
