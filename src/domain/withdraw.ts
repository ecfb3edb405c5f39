import type { ObligationState, Progress, Reached } from "./obligation.ts";

/**
 * How far an operation got that was asked back.
 *
 * - `withdrawn`: nothing is sent any more. `reached` says how far earlier attempts may have got, which is
 *   `no` unless an operator or a lookup closed it.
 * - `requested`: an attempt has begun and may take effect. No new one begins: where the provider can be
 *   looked up, it ends as `done` or `withdrawn` by itself, else an operator says which.
 * - `done`: it took effect.
 */
export interface Withdrawal {
  readonly result: "withdrawn" | "requested" | "done";
  readonly state: ObligationState;
  readonly reached: Reached;
}

/**
 * Takes back an operation that has not started, in this transaction.
 *
 * Where nobody owes it yet, it is kept as withdrawn all the same, so that whoever owes it later meets a
 * conflict that is shown: an intended repeat is another version of the key.
 */
export type Withdraw = (key: readonly [string, ...string[]]) => Promise<Withdrawal>;

/** Where an obligation goes that is taken back; `dueAt` is when its hook runs. */
export function withdrawn(progress: Progress, dueAt: Progress["dueAt"]): Progress {
  const { reached, generation, keySince, lastCallEndedAt } = progress;
  const kept = { reached, generation, keySince, lastCallEndedAt };
  return {
    ...kept,
    state: "withdrawn",
    tries: 0,
    lookups: 0,
    crashes: 0,
    dueAt,
    reason: "taken back by the application",
  };
}
