import { durationMs } from "../domain/duration.ts";
import { errorSummary } from "../domain/error-summary.ts";
import type { Limits } from "../domain/limits.ts";
import { namePart } from "../domain/names.ts";
import type { AnyResource } from "../domain/resource.ts";
import { originProblem } from "./ssrf-guard.ts";

/** The longest time of one fetch. */
export function fetchMsOf({ timeout }: NonNullable<AnyResource["fetch"]>, limits: Limits): number {
  return timeout === undefined ? limits.callMs : durationMs(timeout);
}

/** Says why a resource cannot be asked for at its source; `undefined` when it can. */
export function resourceProblem({ kind, fetch }: AnyResource, limits: Limits): string | undefined {
  const unnamed = namePart(kind);
  if (unnamed !== undefined) return `its kind ${unnamed}`;
  if (fetch === undefined) return "it declares no fetch; only those that do are registered";
  const bad = fetch.allow?.map(originProblem).find((problem) => problem !== undefined);
  if (bad !== undefined) return `its allowed origin ${bad}`;
  try {
    const ms = fetchMsOf(fetch, limits);
    const mostMs = limits.leaseMs - limits.leaseMarginMs;
    return ms < mostMs ? undefined : `its timeout is ${ms} ms, and a lease leaves less than ${mostMs}; raise leaseMs`;
  } catch (error) {
    return error instanceof RangeError ? error.message : errorSummary(error);
  }
}
