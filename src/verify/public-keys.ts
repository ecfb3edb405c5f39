import { createPublicKey, type JsonWebKey, type KeyObject, type X509Certificate } from "node:crypto";
import { chainValidity, readCertificates, type Validity } from "./certificate-chain.ts";
import { keyBytes } from "./key-bytes.ts";
import type { EcdsaScheme, Ed25519Scheme, RsaScheme } from "./scheme.ts";

/** The fixed start of a SubjectPublicKeyInfo that holds an Ed25519 key (RFC 8410). */
const ed25519Start = Buffer.from("302a300506032b6570032100", "hex");
const rsaBitsMin = 2_048;

/** The public key that a secret's text is, or `undefined` when it is none of this scheme. */
export function readPublicKey(scheme: Ed25519Scheme | EcdsaScheme | RsaScheme, secret: string): KeyObject | undefined {
  const bytes = keyBytes(scheme.key, secret);
  if (bytes === undefined) return undefined;
  if (scheme.kind === "ed25519") {
    return bytes.length === 32 ? spki(Buffer.concat([ed25519Start, bytes])) : undefined;
  }
  const key = spki(bytes);
  return key && fits(scheme.kind, key) ? key : undefined;
}

/** A JWK's public half, for ES256; `undefined` where the text is none. */
export function readJwk(text: string): { readonly key: KeyObject; readonly id: string | undefined } | undefined {
  try {
    const jwk = JSON.parse(text) as JsonWebKey & { readonly kid?: unknown };
    const key = createPublicKey({ key: jwk, format: "jwk" });
    return fits("ecdsa", key) ? { key, id: typeof jwk.kid === "string" ? jwk.kid : undefined } : undefined;
  } catch {
    return undefined;
  }
}

/** A certificate's key, with what has to hold where it is used. */
export interface CertifiedKey extends Validity {
  readonly key: KeyObject;
}

/** Whose certificates count, and which authorities they have to lead to, if that is asked for. */
export interface CertificateRules {
  readonly hosts: readonly string[];
  readonly authorities?: readonly X509Certificate[] | undefined;
}

/** Reads the first certificate of a PEM text, of one of these hosts by its name or subject; others are of its chain. */
export function readCertificate(pem: string, { hosts, authorities }: CertificateRules): CertifiedKey | undefined {
  try {
    const [certificate, ...others] = readCertificates(pem);
    if (certificate === undefined) return undefined;
    const { publicKey, subject, subjectAltName = "" } = certificate;
    const names = [...`${subject}\n${subjectAltName}`.matchAll(/(?:\bCN=|\bDNS:)([\w.*-]+)/g)].map(([, name]) => name);
    const isTheirs = names.some((name) => name !== undefined && isOfHost(name.replace(/^\*\./, ""), hosts));
    if (!isTheirs || !fits("rsa", publicKey)) return undefined;
    const validity = chainValidity(certificate, { others, authorities: authorities ?? [certificate] });
    return validity && { key: publicKey, ...validity };
  } catch {
    return undefined;
  }
}

/** Whether a URL may be fetched for a key: https, its default port, no credentials, and one of these hosts. */
export function isKeyUrl(text: string, hosts: readonly string[]): boolean {
  const url = URL.parse(text);
  if (url === null || url.protocol !== "https:" || url.port !== "") return false;
  return url.username === "" && url.password === "" && isOfHost(url.hostname, hosts);
}

function isOfHost(name: string, hosts: readonly string[]): boolean {
  return hosts.some((host) => name === host || name.endsWith(`.${host}`));
}

function fits(kind: "ecdsa" | "rsa", { asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject): boolean {
  if (kind === "rsa") return type === "rsa" && (details?.modulusLength ?? 0) >= rsaBitsMin;
  return type === "ec" && details?.namedCurve === "prime256v1";
}

function spki(der: Buffer): KeyObject | undefined {
  try {
    return createPublicKey({ key: der, format: "der", type: "spki" });
  } catch {
    return undefined;
  }
}
