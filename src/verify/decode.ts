import type { Encoding } from "./scheme.ts";

/** The one spelling of each: whole bytes, whole padding, and no bit set that belongs to no byte. */
const spellings: Readonly<Record<Encoding, RegExp>> = {
  hex: /^(?:[0-9a-f]{2})*$/i,
  base64: /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$/,
  base64url: /^(?:[A-Za-z0-9_-]{4})*(?:[A-Za-z0-9_-][AQgw]|[A-Za-z0-9_-]{2}[AEIMQUYcgkosw048])?$/,
};

/**
 * Decodes text that is the one spelling of some bytes, or gives `undefined`.
 *
 * `Buffer.from` drops what it cannot read (`"zz11"` is no bytes, `"11zz"` is one), takes either base64
 * alphabet, and ignores unused bits, so that many texts would pass for one signature. The text is
 * therefore matched in full before anything is decoded.
 *
 * @example
 * ```ts
 * decodeStrict("11zz", "hex"); // undefined
 * decodeStrict("AB==", "base64"); // undefined
 * ```
 */
export function decodeStrict(text: string, encoding: Encoding): Buffer | undefined {
  return spellings[encoding].test(text) ? Buffer.from(text, encoding) : undefined;
}
