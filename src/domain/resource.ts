import type { Schema } from "./schema.ts";
import type { Tx } from "./sql.ts";

/** Where the guarded state of a resource is written besides the engine's own row. */
export type WriteState<State> = (context: {
  readonly tx: Tx;
  readonly connection: string;
  readonly account: string;
  readonly tenant: string;
  readonly id: string;
  readonly revision: string;
  /** `undefined` when the resource was deleted. */
  readonly state: State | undefined;
}) => Promise<unknown>;

/** A kind of thing whose whole state arrives in snapshots. */
export interface Resource<in out State> {
  readonly kind: string;
  readonly schema: Schema<State>;
  readonly write?: WriteState<State>;
}

/** A whole state at a revision, or the deletion at that revision. */
export type SnapshotInput<State> = {
  readonly id: string;
  /** An integer of any size, as a number, bigint or decimal text. Never a timestamp by default. */
  readonly revision: number | bigint | string;
} & ({ readonly state: State } | { readonly deleted: true });

/** `same`: this revision with this content is already kept. */
export type SnapshotResult = "applied" | "stale" | "same";

/**
 * Declares a kind of resource.
 *
 * @example
 * ```ts no-run
 * const project = resource("project", { state: v.object({ status: v.string() }) });
 * ```
 */
export function resource<State>(
  kind: string,
  options: { readonly state: Schema<State>; readonly write?: WriteState<NoInfer<State>> },
): Resource<State> {
  return { kind, schema: options.state, ...(options.write && { write: options.write }) };
}
