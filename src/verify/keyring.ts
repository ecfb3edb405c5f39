import { createHmac, createPublicKey, hash, type KeyObject } from "node:crypto";
import { checkSecrets, secretBytesMin, unusable, type SecretProblem } from "./check-secrets.ts";
import { hmacKey, type HmacKey } from "./hmac.ts";
import { keyBytes, keyFormText } from "./key-bytes.ts";
import { authenticatedBy } from "./scheme.ts";
import type { Authenticated, Ed25519Scheme, HmacScheme, Scheme, TokenScheme } from "./scheme.ts";

interface NamedKey<Key> {
  readonly id: string;
  readonly key: Key;
}
interface Keyed<S extends Scheme, Key> {
  readonly kind: S["kind"];
  readonly scheme: S;
  readonly authenticated: Authenticated;
  readonly keys: readonly NamedKey<Key>[];
}

export type KeyedHmac = Keyed<HmacScheme, HmacKey>;
export type KeyedEd25519 = Keyed<Ed25519Scheme, KeyObject>;
/** The key of a token is its SHA-256, so that tokens of any length compare in the same time. */
export type KeyedToken = Keyed<TokenScheme, Buffer>;
export type KeyedScheme = KeyedHmac | KeyedEd25519 | KeyedToken;

/** The secrets of one connection, made ready for its schemes. An empty one refuses everything. */
export interface Keyring {
  readonly kind: "usable";
  readonly entries: readonly KeyedScheme[];
  readonly secretIds: readonly string[];
}

/** Its keys are private, so that whatever prints or serialises an application has none of them in it. */
class PrivateKeyring implements Keyring {
  readonly kind = "usable";
  readonly secretIds: readonly string[];
  readonly #entries: readonly KeyedScheme[];

  constructor(entries: readonly KeyedScheme[], secretIds: readonly string[]) {
    this.#entries = entries;
    this.secretIds = secretIds;
  }

  get entries(): readonly KeyedScheme[] {
    return this.#entries;
  }
}

/** Fails closed: for a connection whose secrets could not be read. */
export const emptyKeyring: Keyring = new PrivateKeyring([], []);

/**
 * Makes a connection's secrets ready for its schemes. A secret serves every scheme whose key form it
 * has, so that the prefix of a Standard Webhooks secret chooses between HMAC and Ed25519. A public key
 * serves Ed25519 only: whoever knows it, and anyone may, could sign with its text as an HMAC key.
 *
 * @example
 * ```ts no-run
 * const keyring = openKeyring(stripe.rules.schemes, [process.env.STRIPE_SECRET]);
 * if (keyring.kind === "unusable") throw new CounterfoilError("CONFIG_INVALID", keyring.message);
 * ```
 */
export function openKeyring(
  schemes: readonly Scheme[],
  secrets: readonly (string | undefined)[],
): Keyring | SecretProblem {
  const checked = checkSecrets(secrets);
  if (checked.kind === "unusable") return checked;
  const isPublic = (secret: string): boolean =>
    schemes.some((scheme) => scheme.kind === "ed25519" && readPublicKey(scheme, secret) !== undefined);
  const shared = checked.secrets.filter((secret) => !isPublic(secret));
  const entries = schemes
    .map((scheme) => keyScheme(scheme, scheme.kind === "ed25519" ? checked.secrets : shared))
    .filter(({ keys }) => keys.length > 0);
  const served = new Set(entries.flatMap(({ keys }) => keys.map(({ id }) => id)));
  const secretIds = checked.secrets.map(secretId);
  if (secretIds.every((id) => served.has(id))) return new PrivateKeyring(entries, secretIds);
  const position = 1 + secrets.findIndex((secret) => secret !== undefined && !served.has(secretId(secret)));
  const forms = schemes.map((scheme) => (scheme.kind === "token" ? "any text" : keyFormText(scheme.key))).join(", or ");
  return unusable(
    "undecodable",
    `Cannot use secret ${position}: it is not of the form that this provider's secrets have (${forms})`,
  );
}

/**
 * Names a secret in receipts and refusals: the first 8 hex digits of an HMAC under the secret over a
 * fixed label. It stays the same when the list around the secret changes, and does not lead back to it.
 */
export function secretId(secret: string): string {
  return createHmac("sha256", secret).update("counterfoil secret id").digest("hex").slice(0, 8);
}

function keyScheme(scheme: Scheme, secrets: readonly string[]): KeyedScheme {
  const authenticated = authenticatedBy(scheme);
  switch (scheme.kind) {
    case "hmac":
      return {
        kind: scheme.kind,
        scheme,
        authenticated,
        keys: readKeys(secrets, (secret) => readHmacKey(scheme, secret)),
      };
    case "ed25519":
      return {
        kind: scheme.kind,
        scheme,
        authenticated,
        keys: readKeys(secrets, (secret) => readPublicKey(scheme, secret)),
      };
    case "token":
      return {
        kind: scheme.kind,
        scheme,
        authenticated,
        keys: readKeys(secrets, (secret) => hash("sha256", secret, "buffer")),
      };
  }
}

function readKeys<Key>(secrets: readonly string[], read: (secret: string) => Key | undefined): NamedKey<Key>[] {
  return secrets.flatMap((secret) => {
    const key = read(secret);
    return key === undefined ? [] : [{ id: secretId(secret), key }];
  });
}

function readHmacKey(scheme: HmacScheme, secret: string): HmacKey | undefined {
  const bytes = keyBytes(scheme.key, secret);
  return bytes === undefined || bytes.length < secretBytesMin ? undefined : hmacKey(scheme.hash, bytes);
}

/** The fixed start of a SubjectPublicKeyInfo that holds an Ed25519 key (RFC 8410). */
const publicKeyStart = Buffer.from("302a300506032b6570032100", "hex");

function readPublicKey(scheme: Ed25519Scheme, secret: string): KeyObject | undefined {
  const bytes = keyBytes(scheme.key, secret);
  if (bytes?.length !== 32) return undefined;
  return createPublicKey({ key: Buffer.concat([publicKeyStart, bytes]), format: "der", type: "spki" });
}
