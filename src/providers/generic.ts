import type { Encoding, KeyText, Scheme, SignedPart, TimestampRule } from "../verify/scheme.ts";
import { defineProvider } from "./define-provider.ts";
import type { ProviderSpec } from "./provider-spec.ts";
import type { Provider } from "./provider.ts";

const day = 24 * 3_600_000;

interface GenericSigned {
  readonly header: string;
  /** Stands before the signature, such as `sha256=`. */
  readonly prefix?: string;
  /** @default "hex" */
  readonly encoding?: Encoding;
  /** @default { from: "utf8" } for HMAC, { from: "hex" } for Ed25519 */
  readonly key?: KeyText;
  /** @default ["body"] */
  readonly signed?: readonly SignedPart[];
  readonly timestamp?: TimestampRule;
}

/** How a sender proves itself. */
export type GenericSignature =
  | (GenericSigned & { readonly kind: "hmac"; /** @default "sha256" */ readonly hash?: "sha1" | "sha256" | "sha512" })
  | (GenericSigned & { readonly kind: "ed25519" })
  | { readonly kind: "token"; readonly header: string; readonly prefix?: string };

/** A provider's spec with one signature in short form; what a sender does not document gets a careful default. */
export interface GenericOptions<Name extends string> extends Omit<
  ProviderSpec<Name>,
  "name" | "schemes" | "ackMs" | "retries" | "redeliveryMs"
> {
  /** @default "generic" */
  readonly name?: Name;
  readonly signature: GenericSignature;
  /** @default 10_000 */
  readonly ackMs?: number;
  /** @default false, so that nothing is left to a retry that may not come */
  readonly retries?: boolean;
  /** @default 30 days */
  readonly redeliveryMs?: number;
}

/**
 * A sender without a preset: HMAC, Ed25519 or a token, with the id in a header or the body.
 *
 * @throws TypeError when the options contradict each other, naming the field.
 * @example
 * ```ts
 * const acme = generic({
 *   name: "acme",
 *   signature: { kind: "hmac", header: "x-acme-signature", prefix: "sha256=" },
 *   identity: { id: { from: "header", name: "x-acme-id" }, type: { from: "body", path: ["type"] } },
 * });
 * ```
 */
export function generic<const Name extends string = "generic">(options: GenericOptions<Name>): Provider<Name> {
  const { signature, name = "generic" as Name, ...spec } = options;
  return defineProvider({
    ackMs: 10_000,
    retries: false,
    redeliveryMs: 30 * day,
    ...spec,
    name,
    schemes: [schemeOf(signature)],
  });
}

function schemeOf(signature: GenericSignature): Scheme {
  if (signature.kind === "token") return signature;
  const { header, prefix, encoding = "hex", signed = ["body"], timestamp } = signature;
  const common = {
    headers: [header],
    grammar: { kind: "single", ...(prefix === undefined ? {} : { prefix }) },
    encoding,
    signed,
    ...(timestamp === undefined ? {} : { timestamp }),
  } as const;
  if (signature.kind === "hmac") {
    return { ...common, kind: "hmac", hash: signature.hash ?? "sha256", key: signature.key ?? { from: "utf8" } };
  }
  const key = signature.key ?? { from: "hex" };
  return { ...common, kind: "ed25519", key, signingKey: key };
}
