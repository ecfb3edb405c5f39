import { fixed } from "../domain/limits.ts";
import type { UnreadableCause } from "./parse-body.ts";

/** The media type of form bodies. */
export const formType = "application/x-www-form-urlencoded";

/** What a form says, as JSON text, or why it cannot be read. */
export type FormContent =
  | { readonly kind: "content"; readonly content: Uint8Array }
  | { readonly kind: "unreadable"; readonly cause: UnreadableCause };

const decoder = new TextDecoder("utf-8", { fatal: true });

/**
 * Reads a form body strictly (WHATWG URL, 5.1): as the JSON that the named field holds, or as an object
 * of all its fields. A field that stands twice stands twice in that object too, so that whoever reads it
 * finds out as with any JSON.
 *
 * A lenient decoder would let `%zz` and bytes that are no UTF-8 mean something else than was signed.
 *
 * @example
 * ```ts
 * const form = readForm(Buffer.from("payload=%7B%22a%22%3A1%7D"), { json: "payload" });
 * form.kind === "content" && Buffer.from(form.content).toString(); // '{"a":1}'
 * ```
 */
export function readForm(bytes: Uint8Array, { json }: { readonly json?: string }): FormContent {
  const fields = readFields(bytes);
  if (typeof fields === "string") return { kind: "unreadable", cause: fields };
  if (json === undefined) {
    const members = fields.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
    return { kind: "content", content: Buffer.from(`{${members.join(",")}}`) };
  }
  const [field, second] = fields.filter(([name]) => name === json);
  if (field === undefined) return { kind: "unreadable", cause: "form_field_missing" };
  if (second !== undefined) return { kind: "unreadable", cause: "form_field_repeated" };
  return { kind: "content", content: Buffer.from(field[1]) };
}

function readFields(bytes: Uint8Array): (readonly [string, string])[] | UnreadableCause {
  let text: string;
  try {
    // Passes over a byte order mark, which would else be a part of the first name.
    text = decoder.decode(bytes);
  } catch {
    return "invalid_utf8";
  }
  // One more than may be, so that a body of separators makes no long list.
  const parts = text.split("&", fixed.formFields + 1);
  if (parts.length > fixed.formFields) return "too_many_fields";
  try {
    return parts.filter((part) => part !== "").map(readField);
  } catch {
    return "invalid_form";
  }
}

/** Throws where a percent sign is not followed by two hex digits, or what they spell is no UTF-8. */
function readField(part: string): readonly [string, string] {
  const end = part.indexOf("=");
  const [name, value] = end === -1 ? [part, ""] : [part.slice(0, end), part.slice(end + 1)];
  return [decodeURIComponent(name.replaceAll("+", " ")), decodeURIComponent(value.replaceAll("+", " "))];
}
