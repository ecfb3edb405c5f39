import type { HmacScheme } from "../verify/scheme.ts";

interface BodyHmac extends Partial<Omit<HmacScheme, "kind" | "headers">> {
  /** Stands before the signature, such as `sha256=`. */
  readonly prefix?: string;
}

/** What most senders do: one HMAC-SHA256 over the body, in hex, in one header, under the secret's text. */
export function bodyHmac(header: string | readonly [string, ...string[]], options: BodyHmac = {}): HmacScheme {
  const { prefix, ...rest } = options;
  return {
    kind: "hmac",
    hash: "sha256",
    headers: typeof header === "string" ? [header] : header,
    grammar: { kind: "single", ...(prefix !== undefined && { prefix }) },
    encoding: "hex",
    key: { from: "utf8" },
    signed: ["body"],
    ...rest,
  };
}
