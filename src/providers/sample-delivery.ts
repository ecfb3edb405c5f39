import { readPath, type Json, type JsonPath } from "../domain/json.ts";
import { canSign, sign, type SigningInput } from "../verify/sign.ts";
import type { FieldSource, ProviderRules } from "./provider-spec.ts";

/** What goes out for one delivery. */
export interface SignedDelivery {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** What to send, and by whose secret. */
export interface SampleOptions {
  readonly secret: string;
  readonly type: string;
  readonly id: string;
  readonly timestampMs: number;
  /** The body to send instead of the preset's sample. */
  readonly body?: Json;
}

/**
 * Makes a delivery as this provider would send it: the sample body of the type, id and type where the
 * preset says they stand, signed by the preset's own scheme. For trying out and for tests.
 *
 * @throws TypeError when the preset has no sample of the type, or the secret cannot sign.
 * @example
 * ```ts
 * const { headers } = sampleDelivery(github.rules, {
 *   secret: "It's a Secret to Everybody", type: "ping", id: "1", timestampMs: 0,
 * });
 * headers["x-github-event"]; // "ping"
 * ```
 */
export function sampleDelivery(rules: ProviderRules, options: SampleOptions): SignedDelivery {
  const { id, type } = rules.identity;
  let json = options.body ?? sampleOf(rules, options.type);
  let headers: Record<string, string> = {};
  const place = (source: FieldSource, text: string): void => {
    if (source.from === "header") headers = { ...headers, [source.name]: text };
    if (source.from === "body") json = withText(json, source.path, text);
  };
  if (id.from !== "derived") place(id, options.id);
  place(type, options.type);
  return signDelivery(rules, options.secret, {
    headers,
    body: Buffer.from(JSON.stringify(json)),
    timestampMs: options.timestampMs,
  });
}

/** Signs bytes as they are; `headers` are those that carry identity. */
export function signDelivery(rules: ProviderRules, secret: string, input: SigningInput): SignedDelivery {
  const scheme = rules.schemes.find((candidate) => canSign(candidate, secret)) ?? rules.schemes[0];
  const headers = { "content-type": rules.contentTypes[0], ...input.headers, ...sign(scheme, secret, input) };
  return { headers, body: input.body };
}

function sampleOf({ name, samples }: ProviderRules, type: string): Json {
  const sample = samples[type];
  if (sample !== undefined) return sample;
  const known = Object.keys(samples).join(", ") || "none";
  throw new TypeError(`Cannot make a sample "${type}" of provider "${name}": samples are ${known}; give a body`);
}

/** A copy with text at a path of property names, whose objects are made where they are missing. */
function withText(json: Json | undefined, path: JsonPath, text: string): Json {
  const [step, ...rest] = path;
  if (step === undefined) return text;
  const object = (typeof json === "object" && json !== null ? json : {}) as Readonly<Record<string, Json>>;
  return { ...object, [step]: withText(readPath(object, [step]) as Json | undefined, rest, text) };
}
