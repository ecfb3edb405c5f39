import { createHmac, hash, type KeyObject } from "node:crypto";
import { readCertificates } from "./certificate-chain.ts";
import { checkSecrets, secretBytesMin, unusable, type SecretProblem } from "./check-secrets.ts";
import { FetchedKeys, type FetchKey } from "./fetched-keys.ts";
import { hmacKey, type HashName, type HmacKey } from "./hmac.ts";
import { keyBytes, keyFormText } from "./key-bytes.ts";
import { type CertifiedKey, readCertificate, readJwk, readPublicKey } from "./public-keys.ts";
import { authenticatedBy, signsUrl } from "./scheme.ts";
import type {
  Authenticated,
  EcdsaScheme,
  Ed25519Scheme,
  FieldsScheme,
  HmacScheme,
  JwsScheme,
  RsaScheme,
  Scheme,
  TokenScheme,
} from "./scheme.ts";

interface NamedKey<Key> {
  readonly id: string;
  readonly key: Key;
}
interface Keyed<S extends Scheme, Key, Kind extends string = S["kind"]> {
  readonly kind: Kind;
  readonly scheme: S;
  readonly authenticated: Authenticated;
  readonly keys: readonly NamedKey<Key>[];
}

export type KeyedHmac = Keyed<HmacScheme, HmacKey>;
export type KeyedPublic = Keyed<Ed25519Scheme | EcdsaScheme | RsaScheme, KeyObject, "public">;
/** Its keys are the secrets' texts, which are signed; what signs comes with the delivery. */
export type KeyedCertified = Keyed<RsaScheme, string, "certified"> & {
  readonly hosts: readonly string[];
  readonly urlHeader: string;
  readonly certificates: FetchedKeys<CertifiedKey>;
};
/** The key of a token is its SHA-256, so that tokens of any length compare in the same time. */
export type KeyedToken = Keyed<TokenScheme, Buffer>;
export type KeyedFields = Keyed<FieldsScheme, HmacKey>;
/** An HMAC key for each algorithm, or a public key by its id. */
export type KeyedJws = Keyed<JwsScheme, JwsKey> & { readonly fetched: FetchedKeys<KeyObject> | null };
export type JwsKey =
  | { readonly hmac: Readonly<Record<"HS256" | "HS512", HmacKey>> }
  | { readonly public: KeyObject; readonly id: string | undefined };
export type KeyedScheme = KeyedHmac | KeyedPublic | KeyedCertified | KeyedToken | KeyedFields | KeyedJws;

/** What beside secrets a connection's schemes may need. */
export interface KeyringOptions {
  /** The URL that the sender was given, without a query: what URL signatures are checked against. */
  readonly publicUrl?: string | undefined;
  /** Fetches keys that senders name. */
  readonly fetchKey?: FetchKey | undefined;
  /** Certificates in PEM that fetched ones have to lead to; by default their host vouches for them. */
  readonly authorities?: readonly string[] | undefined;
}

/** The secrets of one connection, made ready for its schemes. An empty one refuses everything. */
export interface Keyring {
  readonly kind: "usable";
  readonly entries: readonly KeyedScheme[];
  readonly secretIds: readonly string[];
  readonly publicUrl: string | undefined;
}

/** Its keys are private, so that whatever prints or serialises an application has none of them in it. */
class PrivateKeyring implements Keyring {
  readonly kind = "usable";
  readonly secretIds: readonly string[];
  readonly publicUrl: string | undefined;
  readonly #entries: readonly KeyedScheme[];

  constructor(entries: readonly KeyedScheme[], secretIds: readonly string[], publicUrl?: string) {
    this.#entries = entries;
    this.secretIds = secretIds;
    this.publicUrl = publicUrl;
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
 * serves signatures of public keys only: whoever knows it, and anyone may, could sign with its text as an
 * HMAC key.
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
  options: KeyringOptions = {},
): Keyring | SecretProblem {
  const lacking = lack(schemes, options);
  if (lacking !== undefined) return unusable("undecodable", `Cannot verify: ${lacking}`);
  const noneNeeded = schemes.every((scheme) => scheme.kind === "jws" && scheme.fetchesKeys) && isEmpty(secrets);
  const checked = noneNeeded ? { kind: "usable" as const, secrets: [] } : checkSecrets(secrets);
  if (checked.kind === "unusable") return checked;
  const isPublic = (secret: string): boolean => schemes.some((scheme) => readsAsPublic(scheme, secret));
  const shared = checked.secrets.filter((secret) => !isPublic(secret));
  const entries = schemes
    .map((scheme) => keyScheme(scheme, takesPublic(scheme) ? checked.secrets : shared, options))
    .filter((entry) => entry.keys.length > 0 || (entry.kind === "jws" && entry.fetched !== null));
  const served = new Set(entries.flatMap(({ keys }) => keys.map(({ id }) => id)));
  const secretIds = checked.secrets.map(secretId);
  if (secretIds.every((id) => served.has(id))) return new PrivateKeyring(entries, secretIds, options.publicUrl);
  const position = 1 + secrets.findIndex((secret) => secret !== undefined && !served.has(secretId(secret)));
  const forms = [...new Set(schemes.map(formOf))].join(", or ");
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

/** What a scheme needs that is not configured. */
function lack(schemes: readonly Scheme[], { publicUrl, fetchKey, authorities }: KeyringOptions): string | undefined {
  if (schemes.some(signsUrl) && publicUrl === undefined) {
    return "this provider signs the URL that it calls; set publicUrl to the one that it was given";
  }
  const fetches = schemes.some((scheme) => scheme.kind === "rsa" && scheme.certificate !== undefined);
  if (fetches && fetchKey === undefined) return "this provider names certificates that have to be fetched";
  if (authorities === undefined) return undefined;
  if (!fetches) return "this provider names no certificates; leave out authorities";
  return isEveryCertificate(authorities)
    ? undefined
    : "authorities has to be a list of certificates in PEM, at least one";
}

function isEveryCertificate(authorities: readonly string[]): boolean {
  try {
    return authorities.length > 0 && authorities.every((pem) => readCertificates(pem).length > 0);
  } catch {
    return false;
  }
}

function isEmpty(secrets: readonly (string | undefined)[]): boolean {
  return secrets.every((secret) => secret === undefined);
}

function formOf(scheme: Scheme): string {
  if (scheme.kind === "token") return "any text";
  if (scheme.kind === "jws") return scheme.algorithms[0] === "ES256" ? "a JWK" : "any text";
  return keyFormText(scheme.key);
}

function takesPublic(scheme: Scheme): boolean {
  if (scheme.kind === "rsa") return scheme.certificate === undefined;
  return (
    scheme.kind === "ed25519" || scheme.kind === "ecdsa" || (scheme.kind === "jws" && scheme.algorithms[0] === "ES256")
  );
}

function readsAsPublic(scheme: Scheme, secret: string): boolean {
  if (!takesPublic(scheme)) return false;
  if (scheme.kind === "jws") return readJwk(secret) !== undefined;
  return readPublicKey(scheme as Ed25519Scheme | EcdsaScheme | RsaScheme, secret) !== undefined;
}

function keyScheme(scheme: Scheme, secrets: readonly string[], { fetchKey, authorities }: KeyringOptions): KeyedScheme {
  const authenticated = authenticatedBy(scheme);
  switch (scheme.kind) {
    case "hmac":
    case "fields": {
      const keys = readKeys(secrets, (secret) => readHmacKey(scheme, secret));
      return { kind: scheme.kind, scheme, authenticated, keys } as KeyedHmac | KeyedFields;
    }
    case "rsa":
    case "ed25519":
    case "ecdsa":
      if (scheme.kind === "rsa" && scheme.certificate !== undefined && fetchKey !== undefined) {
        return certified(scheme, scheme.certificate, { secrets, fetchKey, authorities });
      }
      return {
        kind: "public",
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
    case "jws": {
      const fetched = scheme.fetchesKeys && fetchKey ? new FetchedKeys(fetchKey, (text) => readJwk(text)?.key) : null;
      return { kind: scheme.kind, scheme, authenticated, keys: readKeys(secrets, jwsKeyReader(scheme)), fetched };
    }
  }
}

function certified(
  scheme: RsaScheme,
  { hosts, urlHeader }: NonNullable<RsaScheme["certificate"]>,
  {
    secrets,
    fetchKey,
    authorities,
  }: { readonly secrets: readonly string[] } & Pick<KeyringOptions, "authorities"> & {
      readonly fetchKey: FetchKey;
    },
): KeyedCertified {
  const rules = { hosts, authorities: authorities?.flatMap(readCertificates) };
  const certificates = new FetchedKeys(fetchKey, (pem) => readCertificate(pem, rules));
  const keys = readKeys(secrets, (secret) => secret);
  return { kind: "certified", scheme, authenticated: authenticatedBy(scheme), keys, hosts, urlHeader, certificates };
}

function jwsKeyReader({ algorithms }: JwsScheme): (secret: string) => JwsKey | undefined {
  return (secret) => {
    if (algorithms[0] === "HS256") {
      const key = (name: HashName): HmacKey => hmacKey(name, Buffer.from(secret));
      return { hmac: { HS256: key("sha256"), HS512: key("sha512") } };
    }
    const jwk = readJwk(secret);
    return jwk && { public: jwk.key, id: jwk.id };
  };
}

function readKeys<Key>(secrets: readonly string[], read: (secret: string) => Key | undefined): NamedKey<Key>[] {
  return secrets.flatMap((secret) => {
    const key = read(secret);
    return key === undefined ? [] : [{ id: secretId(secret), key }];
  });
}

function readHmacKey(scheme: HmacScheme | FieldsScheme, secret: string): HmacKey | undefined {
  const bytes = keyBytes(scheme.key, secret);
  if (bytes === undefined || bytes.length < secretBytesMin) return undefined;
  const key = hmacKey(scheme.hash, bytes);
  return scheme.kind === "hmac" && scheme.construction === "prefix" ? { ...key, prefix: bytes } : key;
}
