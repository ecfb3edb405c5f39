import { Misuse } from "./misuse.ts";

const partLengthMax = 512;

/**
 * Joins parts to one key, escaping the separator, so that `["a/b", "c"]` and `["a", "b/c"]` differ.
 *
 * @throws TypeError when there is no part, or a part is not a non-empty string of at most 512
 * characters without control characters and lone surrogates.
 * @example
 * ```ts
 * joinKey(["order-1", "fulfil", "v1"]); // "order-1/fulfil/v1"
 * joinKey(["a/b", "c"]); // "a%2Fb/c"
 * ```
 */
export function joinKey(parts: readonly string[]): string {
  if (parts.length === 0) throw new Misuse("Cannot build a key: it has no parts; name the business operation");
  return parts.map(escapePart).join("/");
}

function escapePart(part: unknown, index: number): string {
  const problem = namePart(part);
  if (problem !== undefined) {
    const instead = "give text that names the operation, such as an order's id; where there is none, owe nothing";
    throw new Misuse(`Cannot build a key: part ${index + 1} ${problem}; ${instead}`);
  }
  const text = part as string;
  return text.includes("/") || text.includes("%") ? text.replaceAll("%", "%25").replaceAll("/", "%2F") : text;
}

/**
 * Says why a value cannot be a name or a part of one; `undefined` when it can.
 *
 * @example
 * ```ts
 * namePart("order-1"); // undefined
 * namePart(""); // "is empty"
 * ```
 */
export function namePart(part: unknown): string | undefined {
  if (typeof part !== "string") return `is ${part === null ? "null" : typeof part}, not a string`;
  if (part.trim() === "") return "is empty";
  if (part.length > partLengthMax) return `has ${part.length} characters, allowed are ${partLengthMax}`;
  // oxlint-disable-next-line no-control-regex -- control characters are what this looks for
  if (/[\u0000-\u001f\u007f]/.test(part)) return "has a control character";
  if (!part.isWellFormed()) return "has a lone surrogate";
  return undefined;
}
