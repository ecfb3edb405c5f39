/**
 * Asks a source once for a resource's state. A source's answer is the only thing that counts: what throws,
 * cannot be read or was not declared is a failure, and changes nothing.
 */
import { errorSummary } from "../domain/error-summary.ts";
import type { AnyResource, FetchDefinition, FetchedState, FetchTarget } from "../domain/resource.ts";
import { retryAfterMs } from "../domain/retry-after.ts";
import { check } from "../domain/schema.ts";
import type { Runtime } from "../work/runtime.ts";
import { type Call, describeCall, wasTakenBack } from "./attempt.ts";
import type { CallResult } from "./call-result.ts";
import { type HeaderFields, shapeProblem } from "./headers.ts";
import { fetchMsOf } from "./resource-policy.ts";
import { parseJson } from "./stored-answer.ts";

/** What came of one fetch. */
export type Fetched =
  | ({ readonly kind: "state" } & FetchedState<unknown>)
  | { readonly kind: "gone" }
  /** Taken back before it was sent, or while it was under way. */
  | { readonly kind: "released" }
  | { readonly kind: "failed"; readonly reason: string; readonly retryAfterMs?: number | undefined };

export interface Fetching {
  readonly fetch: NonNullable<AnyResource["fetch"]>;
  readonly target: FetchTarget;
  readonly runtime: Runtime;
  readonly call: Call;
  readonly signal: AbortSignal;
  /** Whether the lease is still ours for long enough. */
  readonly mayStart: () => boolean;
}

/** Never rejects. */
export async function fetchResource(fetching: Fetching): Promise<Fetched> {
  const { fetch, target, runtime, signal } = fetching;
  let result: CallResult;
  try {
    const headers = await headersOf(fetching);
    result = await fetching.call(
      { method: "GET", url: fetch.get(target), body: null, headers, systemHeaders: {} },
      {
        mayStart: fetching.mayStart,
        allow: fetch.allow ?? [],
        signal,
        callMs: fetchMsOf(fetch, runtime.limits),
        probe: runtime.probe,
      },
    );
  } catch (error) {
    return failed(`the fetch failed with ${errorSummary(error)}`);
  }
  if (wasTakenBack(result) || signal.aborted) return { kind: "released" };
  if (result.kind !== "answered") return failed(describeCall(result));
  return read(fetch, result, runtime);
}

async function headersOf({ fetch, target, runtime }: Fetching): Promise<HeaderFields> {
  if (fetch.headers === undefined) return {};
  const { promise: late, reject } = Promise.withResolvers<never>();
  const callMs = fetchMsOf(fetch, runtime.limits);
  const cancel = runtime.clock.timer(callMs, () => reject(new TypeError("headers took too long")));
  try {
    const given: unknown = await Promise.race([fetch.headers(target), late]);
    if (shapeProblem(given) !== undefined) throw new TypeError("headers are no plain object of strings");
    return given as HeaderFields;
  } finally {
    cancel();
  }
}

const goneByDefault: readonly number[] = [404, 410];

function read(
  { goneOn = goneByDefault, answer, found }: FetchDefinition,
  { status, headers, body, truncated }: Extract<CallResult, { readonly kind: "answered" }>,
  { clock }: Runtime,
): Fetched {
  if (goneOn.includes(status)) return { kind: "gone" };
  if (status < 200 || status > 299) {
    return { ...failed(`status ${status}`), retryAfterMs: retryAfterMs(headers["retry-after"], clock.wallMs()) };
  }
  if (truncated) return failed("the answer is larger than the limit answerBytes");
  const json = parseJson(body);
  if (!json.valid) return failed("the answer is not JSON");
  try {
    const checked = answer ? check(answer, json.value) : { fits: true as const, value: json.value };
    if (!checked.fits) return failed(`the answer ${checked.issues.join("; ")}`);
    const state = found(checked.value as never);
    return state === undefined ? { kind: "gone" } : { kind: "state", ...state };
  } catch (error) {
    return failed(`found failed with ${errorSummary(error)}`);
  }
}

function failed(reason: string): Extract<Fetched, { readonly kind: "failed" }> {
  return { kind: "failed", reason };
}
