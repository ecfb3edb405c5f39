import { unknownRevision } from "../store.ts";

/**
 * Revisions as text that sorts, byte by byte, as the integers sort, whatever their size, so that a
 * guard such as `excluded.revision > revision` is a predicate of the write.
 *
 * The text is a sign (`1` for zero and above, `0` below), the number of digits of the length (one
 * digit), the length, and the digits. Below zero each digit after the sign is replaced by 9 minus it,
 * because a larger magnitude must sort first.
 *
 * @throws RangeError when the text is no decimal integer.
 * @example
 * ```ts
 * encodeRevision("42"); // "11242"
 * encodeRevision("-1"); // "0888"
 * ```
 */
export function encodeRevision(decimal: string): string {
  if (decimal === unknownRevision) return "";
  const match = /^([+-]?)0*(\d+)$/.exec(decimal);
  if (!match) throw new RangeError("Cannot use a revision: it is no decimal integer; give an integer as text");
  const [, sign, digits = ""] = match;
  const length = String(digits.length);
  const magnitude = `${length.length}${length}${digits}`;
  return sign === "-" && digits !== "0" ? `0${complement(magnitude)}` : `1${magnitude}`;
}

/** The decimal text of an encoded revision. */
export function decodeRevision(encoded: string): string {
  if (encoded === "") return unknownRevision;
  const negative = encoded.startsWith("0");
  const magnitude = negative ? complement(encoded.slice(1)) : encoded.slice(1);
  return (negative ? "-" : "") + magnitude.slice(1 + Number(magnitude[0]));
}

function complement(digits: string): string {
  return digits.replaceAll(/\d/g, (digit) => String(9 - Number(digit)));
}
