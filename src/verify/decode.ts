import type { Encoding } from "./scheme.ts";

const alphabets: Readonly<Record<Encoding, RegExp>> = {
  hex: /^[0-9a-f]*$/i,
  base64: /^[A-Za-z0-9+/]*={0,2}$/,
  base64url: /^[A-Za-z0-9_-]*$/,
};

/**
 * Decodes text that is exactly one spelling of some bytes, or gives `undefined`.
 *
 * `Buffer.from` drops what it cannot read (`"zz11"` is no bytes, `"11zz"` is one), accepts either
 * base64 alphabet, and ignores unused bits, so that many texts would pass for one signature. Here the
 * alphabet is checked first and the result must encode back to the text.
 *
 * @example
 * ```ts
 * decodeStrict("11zz", "hex"); // undefined
 * decodeStrict("AB==", "base64"); // undefined
 * ```
 */
export function decodeStrict(text: string, encoding: Encoding): Buffer | undefined {
  if (!alphabets[encoding].test(text)) return undefined;
  const bytes = Buffer.from(text, encoding);
  const spelling = encoding === "hex" ? text.toLowerCase() : text;
  return bytes.toString(encoding) === spelling ? bytes : undefined;
}
