/**
 * Whether a certificate leads to an authority that is trusted (RFC 5280, section 6, without revocation and
 * policies): each is issued and signed by the next, every issuer is an authority, and all are valid at once.
 */
import { X509Certificate } from "node:crypto";

/** When all certificates of a chain are valid, both ends included. */
export interface Validity {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Longer chains are nobody's. */
const depthMax = 6;
const pemMax = 10;

/** The certificates of a PEM text, in its order; throws where one is none. */
export function readCertificates(pem: string): readonly X509Certificate[] {
  const texts = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return texts.slice(0, pemMax).map((text) => new X509Certificate(text));
}

/**
 * When a certificate leads to an authority, through others that came with it; `undefined` where it never does.
 * An intermediate may be the authority, and so may the certificate itself.
 */
export function chainValidity(
  certificate: X509Certificate,
  {
    others,
    authorities,
  }: { readonly others: readonly X509Certificate[]; readonly authorities: readonly X509Certificate[] },
): Validity | undefined {
  const climb = (from: X509Certificate, depth: number): Validity | undefined => {
    const isTrusted = authorities.some(({ fingerprint256 }) => fingerprint256 === from.fingerprint256);
    if (isTrusted) return validityOf(from);
    if (depth === depthMax) return undefined;
    for (const issuer of [...authorities, ...others]) {
      const above = isIssuedBy(from, issuer) ? climb(issuer, depth + 1) : undefined;
      if (above !== undefined) return both(validityOf(from), above);
    }
    return undefined;
  };
  return climb(certificate, 0);
}

function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  const isItself = certificate.fingerprint256 === issuer.fingerprint256;
  return !isItself && issuer.ca && certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}

function validityOf({ validFrom, validTo }: X509Certificate): Validity {
  return { fromMs: Date.parse(validFrom), untilMs: Date.parse(validTo) };
}

function both(left: Validity, right: Validity): Validity {
  return { fromMs: Math.max(left.fromMs, right.fromMs), untilMs: Math.min(left.untilMs, right.untilMs) };
}
