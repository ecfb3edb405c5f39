/** Schemes of each grammar, and short ways to sign and judge a delivery, for tests of verification. */
import { headersFromRaw } from "../../src/verify/delivery-headers.ts";
import { openKeyring, type Keyring } from "../../src/verify/keyring.ts";
import type { HmacScheme, Scheme, TokenScheme } from "../../src/verify/scheme.ts";
import { sign } from "../../src/verify/sign.ts";
import type { Verdict } from "../../src/verify/verdict.ts";
import { verify } from "../../src/verify/verify.ts";

export const sentAtMs = 1_767_225_600_000;
export const secret = "a secret of the first year";
export const otherSecret = "a secret of the second year";
export const tolerance = { pastMs: 300_000, futureMs: 120_000 };

export const bodyOnly: HmacScheme = {
  kind: "hmac",
  hash: "sha256",
  headers: ["x-signature"],
  grammar: { kind: "single", prefix: "sha256=" },
  encoding: "hex",
  key: { from: "utf8" },
  signed: ["body"],
};
export const pairs: HmacScheme = {
  ...bodyOnly,
  grammar: { kind: "pairs", separator: ",", signature: "v1" },
  signed: ["timestamp", { literal: "." }, "body"],
  timestamp: { from: { pair: "t" }, unit: "s", ...tolerance },
};
export const versions: HmacScheme = {
  ...bodyOnly,
  grammar: { kind: "versions", version: "v1" },
  encoding: "base64",
  signed: [{ header: "x-id" }, { literal: "." }, "timestamp", { literal: "." }, "body"],
  timestamp: { from: { header: "x-timestamp" }, unit: "s", ...tolerance },
};
export const token: TokenScheme = { kind: "token", header: "authorization", prefix: "Bearer " };
export const schemes: readonly (readonly [string, Scheme])[] = [
  ["a prefix", bodyOnly],
  ["pairs", pairs],
  ["a version list", versions],
];

export function keyringFor(scheme: Scheme | readonly Scheme[], ...secrets: readonly (string | undefined)[]): Keyring {
  const keyring = openKeyring([scheme].flat(), secrets);
  if (keyring.kind === "unusable") throw new Error(keyring.message);
  return keyring;
}

export function signed(scheme: Scheme, body: Uint8Array, by = secret): Record<string, string> {
  return sign(scheme, by, { body, timestampMs: sentAtMs, headers: { "x-id": "msg_1" } });
}

interface Sent {
  readonly headers: Readonly<Record<string, string>> | readonly string[];
  readonly body: Uint8Array;
  readonly arrivedAtMs?: number;
}

export function judge(keyring: Keyring, { headers, body, arrivedAtMs = sentAtMs }: Sent): Verdict {
  const raw = Array.isArray(headers) ? (headers as readonly string[]) : Object.entries(headers).flat();
  return verify(keyring, { headers: headersFromRaw(raw), body, arrivedAtMs });
}

export function causeOf(keyring: Keyring, sent: Sent): string {
  const verdict = judge(keyring, sent);
  return verdict.kind === "refused" ? verdict.cause : "verified";
}

export const body = Buffer.from('{"id":"evt_1","amount":4200}\r\n');
