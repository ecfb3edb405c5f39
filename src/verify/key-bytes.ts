import { decodeStrict } from "./decode.ts";
import type { KeyText } from "./scheme.ts";

/**
 * The key that a secret's text stands for, or `undefined` when it is not of that form. Base64 may come
 * with or without its padding: providers print secrets both ways.
 */
export function keyBytes(form: KeyText, secret: string): Buffer | undefined {
  switch (form.from) {
    case "utf8":
      return Buffer.from(changed(secret, form.as));
    case "hex":
      return decodeStrict(secret, "hex");
    case "base64": {
      const prefix = form.prefix ?? "";
      if (!secret.startsWith(prefix)) return form.orText ? Buffer.from(secret) : undefined;
      return base64(secret.slice(prefix.length));
    }
    case "spki":
      return base64(secret.replaceAll(/-----(?:BEGIN|END) PUBLIC KEY-----|\s/g, ""));
  }
}

/** Says in words what text a key form takes, for messages. */
export function keyFormText(form: KeyText): string {
  if (form.from === "utf8" || (form.from === "base64" && form.orText)) return "any text";
  if (form.from === "hex") return "hex digits";
  if (form.from === "spki") return "a public key, as PEM or base64";
  return form.prefix === undefined ? "base64" : `"${form.prefix}" and base64`;
}

function base64(text: string): Buffer | undefined {
  return decodeStrict(text.padEnd(Math.ceil(text.length / 4) * 4, "="), "base64");
}

const entities: Readonly<Record<string, string>> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#039;": "'",
};

function changed(secret: string, as: "nfkd" | "html" | undefined): string {
  if (as === undefined) return secret;
  if (as === "nfkd") return secret.normalize("NFKD");
  return secret.replaceAll(/&(?:amp|lt|gt|quot|#039);/g, (entity) => entities[entity] ?? entity);
}
