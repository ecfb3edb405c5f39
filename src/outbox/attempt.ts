/** What every kind of attempt works with and hands back. */
import type { EffectDefinition, Operation } from "../domain/effect.ts";
import type { AttemptEnd, StoredAnswer } from "../domain/obligation.ts";
import type { Claim } from "../store/store.ts";
import { operationOf, sendMethod } from "../work/owe.ts";
import type { Runtime } from "../work/runtime.ts";
import type { CallResult } from "./call-result.ts";
import type { Caller } from "./caller.ts";
import type { Learned } from "./decide.ts";
import type { Lease } from "./lease-watch.ts";

/** One call over the network; a bench puts in one that costs nothing. */
export type Call = Caller["call"];

/** A claim about to be carried out. */
export interface Attempting {
  readonly claim: Claim;
  readonly definition: EffectDefinition;
  readonly lease: Lease;
  readonly runtime: Runtime;
  readonly call: Call;
}

/** How an attempt ended. */
export interface Ended {
  readonly learned: Learned;
  readonly end: AttemptEnd;
  /** An answer besides the attempt's own. */
  readonly answer?: StoredAnswer;
}

/** The end of an attempt that never started. */
export const releasedEnd: AttemptEnd = { verdict: "released", phase: null, status: null, cause: null, answer: null };

/** The operation that a claim is about. What a function sends is its frozen input, which an operator may have replaced. */
export function operationOfClaim(
  { obligation, input, request: { method, body } }: Claim,
  definition: EffectDefinition,
): Operation<unknown> {
  const text = method === sendMethod && body !== null ? new TextDecoder().decode(body) : input;
  return operationOf(obligation, JSON.parse(text) as unknown, definition);
}

/** How a call without an answer ended, for people. */
export function describeCall(result: CallResult): string {
  return result.kind === "answered"
    ? `status ${result.status}`
    : `${result.cause} at ${result.phase}: ${result.detail}`;
}

/** Whether the call ended because this process took it back before its first byte. */
export function wasTakenBack(result: CallResult): boolean {
  return result.kind === "not_sent" && ["withdrawn", "aborted", "closed"].includes(result.cause);
}
