import { CounterfoilError } from "../domain/errors.ts";
import type { ProviderRules } from "../providers/provider-spec.ts";
import type { DeliveryHeaders } from "../verify/delivery-headers.ts";
import type { Connection } from "./connection.ts";

/**
 * Refuses a content type, charset or encoding that the connection does not declare: reading it as
 * something else would act on other content than was signed. A missing type is read as the connection's own.
 */
export function assertMediaType({ id, provider }: Connection, headers: DeliveryHeaders): void {
  const encoding = headers.get("content-encoding")?.trim().toLowerCase();
  if (encoding && encoding !== "identity") {
    refuse(id, `its content encoding is "${printable(encoding)}", taken is none`);
  }
  const value = headers.get("content-type");
  if (value === undefined || value.trim() === "") return;
  if (taken.get(provider.rules)?.has(value)) return;
  const [type = "", ...parameters] = value.split(";").map((part) => part.trim().toLowerCase());
  const { contentTypes } = provider.rules;
  if (!contentTypes.includes(type)) {
    refuse(
      id,
      `its content type is "${printable(type)}", taken is ${contentTypes.join(", ")}; change it in the provider's webhook settings`,
    );
  }
  const charset = parameters
    .find((parameter) => parameter.startsWith("charset="))
    ?.slice("charset=".length)
    .replaceAll('"', "");
  if (charset !== undefined && charset !== "utf-8" && charset !== "utf8") {
    refuse(id, `its charset is "${printable(charset)}", taken is utf-8`);
  }
  remember(provider.rules, value);
}

/** Content types that were taken, as they were spelled: senders repeat themselves, and reading one again takes time. */
const taken = new WeakMap<ProviderRules, Set<string>>();
const spellingsMax = 16;

function remember(rules: ProviderRules, value: string): void {
  const spellings = taken.get(rules) ?? new Set();
  if (spellings.size < spellingsMax) taken.set(rules, spellings.add(value));
}

function printable(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, "?").slice(0, 60);
}

function refuse(connection: string, problem: string): never {
  throw new CounterfoilError("MEDIA_TYPE_REFUSED", `Cannot take the delivery to "${connection}": ${problem}`);
}
