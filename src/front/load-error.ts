import { errorSummary } from "../domain/error-summary.ts";
import { CounterfoilError } from "../domain/errors.ts";

/** The error of a configuration that the HTTP thread cannot load although the engine's thread has. */
export function loadError(cause: unknown): CounterfoilError {
  const code = cause instanceof CounterfoilError ? cause.code : "CONFIG_INVALID";
  return new CounterfoilError(
    code,
    `Cannot load the configuration in the HTTP thread: ${told(cause)}; it is loaded there once more: ` +
      "mend what works only once or only in the main thread, or serve without that thread (--no-http-thread)",
  );
}

/** The message is of the user's own file; without it nobody could mend the file. */
function told(cause: unknown): string {
  if (cause instanceof CounterfoilError) return cause.message;
  return cause instanceof Error ? `${errorSummary(cause)}: ${cause.message}` : errorSummary(cause);
}
