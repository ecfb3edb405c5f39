/** An effect's own headers for one call: asked at this moment, and for no longer than the call may take. */
import type { EffectDefinition, Operation } from "../domain/effect.ts";
import { errorSummary } from "../domain/error-summary.ts";
import type { Attempting } from "./attempt.ts";
import { callMsOf } from "./effect-policy.ts";
import { type HeaderFields, shapeProblem } from "./headers.ts";

/** The headers, or why there are none: the function's fault, or the work was called off while it was asked. */
export type OwnHeaders =
  | { readonly fits: true; readonly headers: HeaderFields }
  | { readonly fits: false; readonly cause: "headers" | "aborted"; readonly problem: string };

/** Asks for an effect's headers. Never rejects: without them nothing is sent, and that is a result. */
export async function ownHeaders(
  { definition, lease, runtime }: Attempting,
  operation: Operation<unknown>,
): Promise<OwnHeaders> {
  const { headers } = definition;
  if (headers === undefined) return { fits: true, headers: {} };
  const over = Promise.withResolvers<OwnHeaders>();
  const stop = (): void => over.resolve({ fits: false, cause: "aborted", problem: "stopped before it was sent" });
  const callMs = callMsOf(definition, runtime.limits);
  const cancel = runtime.clock.timer(callMs, () => over.resolve(unfit(`took longer than ${callMs} ms`)));
  lease.signal.addEventListener("abort", stop);
  try {
    return await Promise.race([ask(headers, operation), over.promise]);
  } finally {
    cancel();
    lease.signal.removeEventListener("abort", stop);
  }
}

async function ask(
  headers: NonNullable<EffectDefinition["headers"]>,
  operation: Operation<unknown>,
): Promise<OwnHeaders> {
  try {
    const given: unknown = await headers(operation);
    const problem = shapeProblem(given);
    return problem === undefined ? { fits: true, headers: given as HeaderFields } : unfit(problem);
  } catch (error) {
    return unfit(`failed with ${errorSummary(error)}`);
  }
}

function unfit(problem: string): OwnHeaders {
  return { fits: false, cause: "headers", problem: `the effect's headers ${problem}` };
}
