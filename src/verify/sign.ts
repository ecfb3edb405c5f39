import { createPrivateKey, sign as signEd25519 } from "node:crypto";
import { hmac, hmacKey, hmacRoom } from "./hmac.ts";
import { keyBytes, keyFormText } from "./key-bytes.ts";
import { timestampText } from "./read-timestamp.ts";
import type { Ed25519Scheme, HmacScheme, Scheme } from "./scheme.ts";
import { signedMessage, type PartValues } from "./signed-message.ts";

/** What a signer needs beside scheme and secret. */
export interface SigningInput {
  readonly body: Uint8Array;
  readonly timestampMs: number;
  /** Values of the headers that the signature covers, such as the event id's. */
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Signs a delivery the way a sender of this scheme does, and gives the headers that carry it. Derived
 * from the same data as the verifier; it proves nothing about a provider, whose own vectors do.
 *
 * @throws TypeError when the secret is not of the scheme's form, or a signed header has no value.
 * @example
 * ```ts
 * const scheme = { kind: "token", header: "x-token" } as const;
 * sign(scheme, "a long token", { body: Buffer.from("{}"), timestampMs: 0 }); // { "x-token": "a long token" }
 * ```
 */
export function sign(scheme: Scheme, secret: string, input: SigningInput): Record<string, string> {
  if (scheme.kind === "token") return { [scheme.header]: `${scheme.prefix ?? ""}${secret}` };
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
  const signature = makeSignature(scheme, secret, { body: input.body, timestamp, header });
  if (rule !== undefined && "header" in rule.from) signed[rule.from.header] = timestamp;
  return { ...signed, [scheme.headers[0]]: signatureValue(scheme, signature, timestamp) };
}

/** Whether a secret is of the form that signs under this scheme. */
export function canSign(scheme: Scheme, secret: string): boolean {
  return scheme.kind === "token" || signingKey(scheme, secret) !== undefined;
}

function makeSignature(scheme: HmacScheme | Ed25519Scheme, secret: string, values: PartValues): Buffer {
  const key = signingKey(scheme, secret);
  if (key === undefined) {
    const form = keyFormText(scheme.kind === "hmac" ? scheme.key : scheme.signingKey);
    throw new TypeError(`Cannot sign: the secret is not of the form of a signing key (${form})`);
  }
  if (scheme.kind === "hmac") {
    return hmac(hmacKey(scheme.hash, key), signedMessage(scheme.signed, values, hmacRoom(scheme.hash)));
  }
  const privateKey = createPrivateKey({ key: Buffer.concat([privateKeyStart, key]), format: "der", type: "pkcs8" });
  return signEd25519(null, signedMessage(scheme.signed, values, 0), privateKey);
}

function signingKey(scheme: HmacScheme | Ed25519Scheme, secret: string): Buffer | undefined {
  if (scheme.kind === "hmac") return keyBytes(scheme.key, secret);
  const key = keyBytes(scheme.signingKey, secret);
  return key?.length === seedBytes || key?.length === 2 * seedBytes ? key.subarray(0, seedBytes) : undefined;
}

const seedBytes = 32;
/** The fixed start of a PrivateKeyInfo that holds an Ed25519 seed (RFC 8410). */
const privateKeyStart = Buffer.from("302e020100300506032b657004220420", "hex");

function signatureValue(scheme: HmacScheme | Ed25519Scheme, signature: Buffer, timestamp: string): string {
  const text = signature.toString(scheme.encoding);
  const { grammar, timestamp: rule } = scheme;
  switch (grammar.kind) {
    case "single":
      return `${grammar.prefix ?? ""}${text}`;
    case "versions":
      return `${grammar.version},${text}`;
    case "pairs": {
      const pair =
        rule !== undefined && "pair" in rule.from ? `${rule.from.pair}=${timestamp}${grammar.separator}` : "";
      return `${pair}${grammar.signature}=${text}`;
    }
  }
}
