import type { ProviderRules } from "../../src/providers/provider-spec.ts";

/** The same provider, which waits for an answer as long as a test holds a lock or a slow machine takes. */
export function patient<P extends { readonly rules: ProviderRules }>(provider: P): P {
  return { ...provider, rules: { ...provider.rules, ackMs: 3_600_000 } };
}
