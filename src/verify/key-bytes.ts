import { decodeStrict } from "./decode.ts";
import type { KeyText } from "./scheme.ts";

/**
 * The key that a secret's text stands for, or `undefined` when it is not of that form. Base64 may come
 * with or without its padding: providers print secrets both ways.
 */
export function keyBytes(form: KeyText, secret: string): Buffer | undefined {
  if (form.from === "utf8") return Buffer.from(secret);
  if (form.from === "hex") return decodeStrict(secret, "hex");
  const prefix = form.prefix ?? "";
  if (!secret.startsWith(prefix)) return undefined;
  const text = secret.slice(prefix.length);
  return decodeStrict(text.padEnd(Math.ceil(text.length / 4) * 4, "="), "base64");
}

/** Says in words what text a key form takes, for messages. */
export function keyFormText(form: KeyText): string {
  if (form.from === "utf8") return "any text";
  if (form.from === "hex") return "hex digits";
  return form.prefix === undefined ? "base64" : `"${form.prefix}" and base64`;
}
