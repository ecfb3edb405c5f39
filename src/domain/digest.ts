import { hash } from "node:crypto";
import type { Json } from "./json.ts";

/** SHA-256 in lower-case hex. */
export function sha256(data: string | Uint8Array): string {
  return hash("sha256", data, "hex");
}

/**
 * JSON text with object members in a fixed order, so that equal content has equal text. Used for
 * digests only: what is sent and what was signed is never written this way.
 *
 * @throws TypeError when the value nests deeper than 128 levels or holds what JSON cannot.
 * @example
 * ```ts
 * canonicalJson({ b: 1, a: [true, null] }); // '{"a":[true,null],"b":1}'
 * ```
 */
export function canonicalJson(value: Json, depth = 0): string {
  if (depth > 128) throw new TypeError("Cannot digest a value: it nests deeper than 128 levels");
  if (Array.isArray(value)) return `[${value.map((item: Json) => canonicalJson(item, depth + 1)).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype !== Object.prototype && prototype !== null) {
      throw new TypeError(
        "Cannot digest a value: it holds an instance of a class, such as a Date; give it as JSON has it",
      );
    }
    const members = Object.entries(value).filter(([, member]) => member !== undefined);
    members.sort(([left], [right]) => (left < right ? -1 : 1));
    return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member as Json, depth + 1)}`).join(",")}}`;
  }
  const text: string | undefined = JSON.stringify(value);
  if (text === undefined || (typeof value === "number" && !Number.isFinite(value))) {
    throw new TypeError(`Cannot digest a value: JSON has no ${typeof value} like this one`);
  }
  return text;
}
