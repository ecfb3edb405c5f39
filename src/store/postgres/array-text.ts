/**
 * Arrays as the text that the server reads. Within a user's transaction nothing is sent in binary form:
 * each tool has its own idea of what bytes are.
 */

/** How the elements of a binary array are written, by their type; see relation.ts. */
const elements: Readonly<Record<number, (bytes: Buffer) => string>> = {
  16: (bytes) => (bytes[0] === 1 ? "t" : "f"),
  17: (bytes) => `\\x${bytes.toString("hex")}`,
  20: (bytes) => String(bytes.readBigInt64BE()),
  25: (bytes) => bytes.toString(),
};

/**
 * Spells out an array of texts.
 *
 * @example
 * ```ts
 * arrayText(['say "a"', null, "b"]); // '{"say \\"a\\"",NULL,"b"}'
 * ```
 */
export function arrayText(values: readonly (string | null)[]): string {
  const spelled = values.map((value) => (value === null ? "NULL" : `"${value.replaceAll(/["\\]/g, String.raw`\$&`)}"`));
  return `{${spelled.join(",")}}`;
}

/** Spells out an array of the server's binary form, as `binaryArray` of relation.ts makes it. */
export function spelledArray(array: Buffer): string {
  const oid = array.readInt32BE(8);
  const element = elements[oid];
  if (!element) throw new RangeError(`Bug: arrays of type ${oid} cannot be spelled out`);
  if (array.readInt32BE(0) === 0) return "{}";
  const values: (string | null)[] = [];
  for (let at = 20; at < array.length;) {
    const length = array.readInt32BE(at);
    at += 4;
    values.push(length < 0 ? null : element(array.subarray(at, at + length)));
    at += Math.max(length, 0);
  }
  return arrayText(values);
}
