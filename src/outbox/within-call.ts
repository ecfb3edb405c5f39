import type { Attempting } from "./attempt.ts";
import { callMsOf } from "./effect-policy.ts";

/** How a function of the user's ended that calls a provider. */
export type WithinCall<T> =
  | { readonly kind: "gave"; readonly value: T }
  | { readonly kind: "threw"; readonly error: unknown }
  /** It was not waited for any longer. */
  | { readonly kind: "stopped"; readonly cause: "deadline" | "aborted"; readonly problem: string };

/** Runs it for no longer than a call may take, and no longer than the lease lives; its signal tells it of the end. Never rejects. */
export async function withinCall<T>(
  { definition, lease, runtime }: Pick<Attempting, "definition" | "lease" | "runtime">,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<WithinCall<T>> {
  const abort = new AbortController();
  const over = Promise.withResolvers<WithinCall<T>>();
  const stop = (cause: "deadline" | "aborted", problem: string): void => {
    over.resolve({ kind: "stopped", cause, problem });
    abort.abort();
  };
  const callMs = callMsOf(definition, runtime.limits);
  const cancel = runtime.clock.timer(callMs, () => stop("deadline", `no answer within ${callMs} ms`));
  const aborted = (): void => stop("aborted", "stopped by the worker");
  lease.signal.addEventListener("abort", aborted);
  try {
    return await Promise.race([ended(() => run(abort.signal)), over.promise]);
  } finally {
    cancel();
    lease.signal.removeEventListener("abort", aborted);
  }
}

async function ended<T>(run: () => Promise<T>): Promise<WithinCall<T>> {
  try {
    return { kind: "gave", value: await run() };
  } catch (error) {
    return { kind: "threw", error };
  }
}
