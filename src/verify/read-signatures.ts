import { decodeStrict } from "./decode.ts";
import type { DeliveryHeaders } from "./delivery-headers.ts";
import { digestBytes } from "./hmac.ts";
import type { HeaderScheme, SignatureGrammar } from "./scheme.ts";
import type { RefusalCause } from "./verdict.ts";

/** Signatures of one delivery that are looked at, of any version; one more and the delivery is refused. */
const signaturesMax = 16;
/** No known scheme's signature header comes near; it bounds the work on junk. */
const headerCharsMax = 8_192;
/** A DER signature of two numbers of P-256, and RSA keys from 2,048 to 4,096 bits. */
const bytesBy = { ed25519: [64, 64], ecdsa: [8, 72], rsa: [256, 512] } as const;

/** What stands in the signature headers: well-formed signatures, and the timestamps where the grammar has them. */
export interface SignatureHeaders {
  readonly signatures: readonly Uint8Array[];
  readonly timestamps: readonly string[];
}

/**
 * Reads a scheme's signature headers.
 *
 * A header sent twice is ambiguous, since two readers could choose differently; platforms that merge
 * repeated headers show it as a comma that the grammar does not have. Signatures of other versions, and
 * malformed ones beside a good one, are skipped, as rotation and upgrades need, but they count.
 */
export function readSignatures(scheme: HeaderScheme, headers: DeliveryHeaders): SignatureHeaders | RefusalCause {
  const signatures: Uint8Array[] = [];
  const timestamps: string[] = [];
  let entries = 0;
  for (const header of scheme.headers) {
    const value = headers.get(header);
    if (value === undefined) continue;
    if (value.length > headerCharsMax) return "malformed_signature";
    if (value.trim() === "") continue;
    if (headers.count(header) > 1 || isMerged(scheme.grammar, value)) return "ambiguous_header";
    for (const [name, text] of split(scheme.grammar, value)) {
      if (name === timestampPair(scheme)) timestamps.push(text);
      else if (++entries > signaturesMax) return "too_many_signatures";
      else if (name === signatureName(scheme.grammar)) signatures.push(...decode(scheme, text));
    }
  }
  if (entries + timestamps.length === 0) return "missing_signature";
  return signatures.length > 0 ? { signatures, timestamps } : "malformed_signature";
}

function isMerged(grammar: SignatureGrammar, value: string): boolean {
  if (grammar.kind === "single") return value.includes(",");
  return !(grammar.kind === "pairs" && grammar.separator === ", ") && value.includes(", ");
}

/** A value's entries as [name, text]; what has no name, or not the prefix, gets the name `undefined`. */
function split(grammar: SignatureGrammar, value: string): readonly (readonly [string | undefined, string])[] {
  if (grammar.kind === "single") {
    const { prefix = "", suffix = "" } = grammar;
    const fits = value.startsWith(prefix) && value.endsWith(suffix);
    return [fits ? ["", value.slice(prefix.length, value.length - suffix.length)] : [undefined, value]];
  }
  const [between, after] = grammar.kind === "pairs" ? [grammar.separator, "="] : [" ", ","];
  return value.split(between).map((entry) => {
    const at = entry.indexOf(after);
    return at < 0 ? [undefined, entry] : [entry.slice(0, at), entry.slice(at + 1)];
  });
}

function signatureName(grammar: SignatureGrammar): string {
  if (grammar.kind === "single") return "";
  return grammar.kind === "pairs" ? grammar.signature : grammar.version;
}

function timestampPair({ timestamp }: HeaderScheme): string | null {
  return timestamp !== undefined && "pair" in timestamp.from ? timestamp.from.pair : null;
}

function decode(scheme: HeaderScheme, text: string): readonly Uint8Array[] {
  const [least, most] =
    scheme.kind === "hmac" ? [digestBytes[scheme.hash], digestBytes[scheme.hash]] : bytesBy[scheme.kind];
  // Hex is the longest spelling, so anything longer need not be looked at.
  const bytes = text.length <= 2 * most ? decodeStrict(text, scheme.encoding) : undefined;
  return bytes !== undefined && bytes.length >= least && bytes.length <= most ? [bytes] : [];
}
