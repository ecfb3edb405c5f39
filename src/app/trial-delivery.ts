import { randomUUID } from "node:crypto";
import type { ArrivalId, DerivedId, FieldSource, ProviderRules } from "../providers/provider-spec.ts";
import { sampleDelivery, signDelivery, type SignedDelivery } from "../providers/sample-delivery.ts";
import { canSign } from "../verify/sign.ts";

/** What a trial delivery is to be. */
export interface TrialOptions {
  /** Event type. By default the first that the preset has a sample of and the connection a handler for. */
  readonly type?: string | undefined;
  /** Event id. By default a random one. */
  readonly id?: string | undefined;
  /** Bytes to send as they are, instead of a sample; where they hold id and type, those stand. */
  readonly body?: Uint8Array | undefined;
  /** What to sign with, where the connection itself has a public key only. */
  readonly secret?: string | undefined;
}

/** A trial delivery: for which connection, and when it is signed. */
interface Trial extends TrialOptions {
  readonly connection: string;
  /** Types that the connection has a handler for. */
  readonly handled?: Pick<ReadonlySet<string>, "has"> | undefined;
  readonly timestampMs: number;
  readonly publicUrl?: string | undefined;
}

/**
 * Makes a delivery as a connection's provider would send it, to try out the way from there to here.
 *
 * @throws TypeError when nothing can sign, there is no sample, or an id or type has no place.
 */
export function trialDelivery(
  rules: ProviderRules,
  secrets: readonly (string | undefined)[],
  options: Trial,
): SignedDelivery {
  const { timestampMs, publicUrl, body, id = `trial_${randomUUID()}` } = options;
  const secret = signingSecret(rules, secrets, options);
  if (body === undefined) {
    const samples = Object.keys(rules.samples);
    const type = options.type ?? samples.find((each) => options.handled?.has(each)) ?? samples[0];
    if (type === undefined) {
      throw new TypeError(`Cannot make a trial delivery: ${rules.name} has no samples; give a body`);
    }
    return sampleDelivery(rules, { secret, type, id, timestampMs, publicUrl });
  }
  const headers = {
    ...rules.sampleHeaders,
    ...header(rules.identity.id, "id", options.id ?? id),
    ...header(rules.identity.type, "type", options.type),
  };
  assertPlaced(rules, options);
  return signDelivery(rules, secret, { headers, body, timestampMs, ...(publicUrl && { url: publicUrl }) });
}

function signingSecret(
  { name, schemes }: ProviderRules,
  secrets: readonly (string | undefined)[],
  { connection, secret: given }: Trial,
): string {
  const candidates = given === undefined ? secrets : [given];
  const secret = candidates.find(
    (one) => one !== undefined && one.trim() !== "" && schemes.some((scheme) => canSign(scheme, one)),
  );
  if (secret !== undefined) return secret;
  const problem = given === undefined ? missing(connection, secrets) : "the secret that you give is not of its form";
  throw new TypeError(
    `Cannot make a trial delivery: ${problem ?? `no secret here can sign as ${name} does; give one that can`}`,
  );
}

/** Says which setting has no secret in it; `undefined` where each has one. */
function missing(connection: string, secrets: readonly (string | undefined)[]): string | undefined {
  const setting = `secrets in connect("${connection}", ...)`;
  if (secrets.length === 0) return `${setting} is empty; put the provider's signing secret there`;
  const unset = secrets.flatMap((secret, index) => (secret === undefined || secret.trim() === "" ? [index + 1] : []));
  if (unset.length < secrets.length) return undefined;
  const entries = unset.length === 1 ? "the one entry" : `each of the ${unset.length} entries`;
  return `${entries} of ${setting} is not set; set the environment variable, or whatever it is read from`;
}

/** The header that carries a field of the identity, where a header does. */
function header(
  source: FieldSource | DerivedId | ArrivalId,
  field: string,
  text: string | undefined,
): Record<string, string> {
  if (source.from !== "header") return {};
  if (text === undefined) {
    throw new TypeError(`Cannot make a trial delivery: its ${field} travels in a header; give it`);
  }
  return { [source.name]: text };
}

function assertPlaced({ identity }: ProviderRules, options: TrialOptions): void {
  for (const field of ["id", "type"] as const) {
    if (options[field] !== undefined && identity[field].from !== "header") {
      throw new TypeError(
        `Cannot make a trial delivery: its ${field} stands in the body that you give; change it there`,
      );
    }
  }
}
