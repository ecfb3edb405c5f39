import type { Json, JsonPath } from "../domain/json.ts";
import { formType } from "../parse/read-form.ts";
import { signRequest, withJson, type SignedRequest } from "../verify/sign-request.ts";
import { canSign, type SigningInput } from "../verify/sign.ts";
import { idSources } from "./field-source.ts";
import type { ContentDigest, FieldSource, ProviderRules } from "./provider-spec.ts";

/** What goes out for one delivery; `suffix` is to follow the hook's URL. */
export type SignedDelivery = SignedRequest;

/** What to send, and by whose secret. */
export interface SampleOptions {
  readonly secret: string;
  readonly type: string;
  readonly id: string;
  readonly timestampMs: number;
  /** The body to send instead of the preset's sample. */
  readonly body?: Json;
  /** The URL that the provider was given, where it signs that. */
  readonly publicUrl?: string | undefined;
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
  const { identity, contentTypes, batch } = rules;
  let json = options.body ?? sampleOf(rules, options.type);
  let headers: Record<string, string> = { ...rules.sampleHeaders };
  const place = (source: FieldSource | ContentDigest | undefined, text: string): void => {
    if (source?.from === "header") headers = { ...headers, [source.name]: text };
    if (source?.from === "body") json = withJson(json, source.path, text);
    if (source?.from === "first") place(source.of[0], text);
  };
  place(placeOfId(rules), options.id);
  if (identity.type.from === "header" || identity.type.from === "body") place(identity.type, options.type);
  const whole = batch === undefined ? json : enclosed(rules.sampleEnvelope ?? {}, batch.path, [json]);
  const body = contentTypes[0] === formType ? formOf(whole, rules.form.json) : JSON.stringify(whole);
  const { secret, timestampMs, publicUrl } = options;
  return signDelivery(rules, secret, {
    headers,
    body: Buffer.from(body),
    timestampMs,
    ...(publicUrl && { url: publicUrl }),
  });
}

/** Signs bytes as they are; `headers` are those that carry identity. */
export function signDelivery(rules: ProviderRules, secret: string, input: SigningInput): SignedDelivery {
  const scheme = rules.schemes.find((candidate) => canSign(candidate, secret)) ?? rules.schemes[0];
  const given = { "content-type": rules.contentTypes[0], ...input.headers };
  const signed = signRequest(scheme, secret, { ...input, headers: given });
  return { ...signed, headers: { ...given, ...signed.headers } };
}

/** Where an id can be put: a derived one is told apart by the header among its parts. */
function placeOfId({ identity }: ProviderRules): FieldSource | ContentDigest | undefined {
  const sources = idSources(identity);
  return identity.id.from === "derived" ? sources.find(({ from }) => from === "header") : sources[0];
}

function enclosed(envelope: Json, path: JsonPath, items: readonly Json[]): Json {
  return path.length === 0 ? items : withJson(envelope, path, items);
}

function formOf(json: Json, field: string | undefined): string {
  if (field !== undefined) return new URLSearchParams({ [field]: JSON.stringify(json) }).toString();
  return new URLSearchParams(json as Record<string, string>).toString();
}

function sampleOf({ name, samples }: ProviderRules, type: string): Json {
  const sample = samples[type];
  if (sample !== undefined) return sample;
  const known = Object.keys(samples).join(", ") || "none";
  throw new TypeError(`Cannot make a sample "${type}" of provider "${name}": samples are ${known}; give a body`);
}
