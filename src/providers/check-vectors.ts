import { headersFromRaw } from "../verify/delivery-headers.ts";
import { openKeyring } from "../verify/keyring.ts";
import { verifyFetching } from "../verify/verify.ts";
import type { ProviderData } from "./provider.ts";

/** One delivery whose verdict is known, such as from a provider's documents. */
export interface ProviderVector {
  readonly name: string;
  readonly secrets: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  /** As text, or as base64 where it is none. */
  readonly body: string | { readonly base64: string };
  readonly valid: boolean;
  /** By default POST. */
  readonly method?: string;
  /** The URL that was called, where it is signed. */
  readonly url?: string;
  /** When it arrived, in seconds since 1970; by default at its beginning. */
  readonly atUnix?: number;
  /** The key that the delivery names, as a PEM or JWK, where one has to be fetched. */
  readonly fetched?: string;
}

/** How a vector came out. */
export interface VectorResult {
  readonly name: string;
  readonly passed: boolean;
  /** `verified`, or why not. */
  readonly verdict: string;
}

/**
 * Runs vectors against a provider's schemes.
 *
 * @example
 * ```ts no-run
 * const failed = (await checkVectors(acme, vectors)).filter(({ passed }) => !passed);
 * ```
 */
export async function checkVectors(
  provider: Pick<ProviderData, "rules">,
  vectors: readonly ProviderVector[],
): Promise<readonly VectorResult[]> {
  const results: VectorResult[] = [];
  for (const vector of vectors) {
    const verdict = await verdictOf(provider, vector);
    results.push({ name: vector.name, passed: (verdict === "verified") === vector.valid, verdict });
  }
  return results;
}

async function verdictOf({ rules }: Pick<ProviderData, "rules">, vector: ProviderVector): Promise<string> {
  const { secrets, headers, body, method = "POST", url = "", atUnix = 0, fetched = null } = vector;
  const [publicUrl] = url.split("?");
  const options = { publicUrl, fetchKey: () => Promise.resolve(fetched) };
  const keyring = openKeyring(rules.schemes, secrets, options);
  if (keyring.kind === "unusable") return keyring.message;
  const verdict = await verifyFetching(keyring, {
    headers: headersFromRaw(Object.entries(headers).flat()),
    body: typeof body === "string" ? Buffer.from(body) : Buffer.from(body.base64, "base64"),
    arrivedAtMs: atUnix * 1_000,
    method,
    target: url === "" ? "/" : url.slice(new URL(url).origin.length),
  });
  return verdict.kind === "verified" ? verdict.kind : verdict.cause;
}
