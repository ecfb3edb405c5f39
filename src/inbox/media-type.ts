import { CounterfoilError } from "../domain/errors.ts";
import { formType } from "../parse/read-form.ts";
import type { ProviderRules } from "../providers/provider-spec.ts";
import type { DeliveryHeaders } from "../verify/delivery-headers.ts";
import type { Connection } from "./connection.ts";

/** How a body is to be read. */
export interface MediaType {
  readonly isGzip: boolean;
  readonly isForm: boolean;
}

/**
 * Tells how a body is to be read, and refuses a content type, charset or encoding that the connection does
 * not declare: reading it as something else would act on other content than was signed. A missing type is
 * read as the connection's own.
 *
 * @throws CounterfoilError MEDIA_TYPE_REFUSED.
 */
export function mediaTypeOf({ id, provider: { rules } }: Connection, headers: DeliveryHeaders): MediaType {
  const encoding = encodingOf(headers);
  if (encoding !== "" && encoding !== "identity" && !(rules.encodings as readonly string[]).includes(encoding)) {
    const taken = rules.encodings.length === 0 ? "none" : rules.encodings.join(", ");
    refuse(id, `its content encoding is "${printable(encoding)}", taken is ${taken}`);
  }
  return { isGzip: encoding === "gzip", isForm: typeOf({ id, rules }, headers) === formType };
}

/** The declared type of a stored delivery, which was taken once. */
export function storedMediaType(rules: ProviderRules, headers: DeliveryHeaders): MediaType {
  const [type = ""] = partsOf(headers.get("content-type") ?? "");
  return {
    isGzip: encodingOf(headers) === "gzip",
    isForm: (type === "" ? rules.contentTypes[0] : type) === formType,
  };
}

function encodingOf(headers: DeliveryHeaders): string {
  return headers.get("content-encoding")?.trim().toLowerCase() ?? "";
}

function typeOf(
  { id, rules }: { readonly id: string; readonly rules: ProviderRules },
  headers: DeliveryHeaders,
): string {
  const value = headers.get("content-type");
  if (value === undefined || value.trim() === "") return rules.contentTypes[0];
  const known = taken.get(rules)?.get(value);
  if (known !== undefined) return known;
  const [type = "", ...parameters] = partsOf(value);
  if (!rules.contentTypes.includes(type)) {
    refuse(
      id,
      `its content type is "${printable(type)}", taken is ${rules.contentTypes.join(", ")}; change it in the provider's webhook settings`,
    );
  }
  const charset = parameters
    .find((parameter) => parameter.startsWith("charset="))
    ?.slice("charset=".length)
    .replaceAll('"', "");
  if (charset !== undefined && charset !== "utf-8" && charset !== "utf8") {
    refuse(id, `its charset is "${printable(charset)}", taken is utf-8`);
  }
  remember(rules, value, type);
  return type;
}

function partsOf(value: string): string[] {
  return value.split(";").map((part) => part.trim().toLowerCase());
}

/** Content types that were taken, by their spelling: senders repeat themselves, and reading one again takes time. */
const taken = new WeakMap<ProviderRules, Map<string, string>>();
const spellingsMax = 16;

function remember(rules: ProviderRules, value: string, type: string): void {
  const spellings = taken.get(rules) ?? new Map<string, string>();
  if (spellings.size < spellingsMax) taken.set(rules, spellings.set(value, type));
}

function printable(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, "?").slice(0, 60);
}

function refuse(connection: string, problem: string): never {
  throw new CounterfoilError("MEDIA_TYPE_REFUSED", `Cannot take the delivery to "${connection}": ${problem}`);
}
