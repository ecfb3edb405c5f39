import type { Duration } from "./duration.ts";
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

/** A resource that is asked for at its source. */
export interface FetchTarget {
  readonly tenant: string;
  readonly connection: string;
  readonly account: string;
  readonly id: string;
}

/** What a source said of a resource. Without a revision, what was asked for later is newer. */
export interface FetchedState<State> {
  readonly state: State;
  readonly revision?: number | bigint | string;
}

/** How a kind of resource is asked for at its source: one GET, by the rules of every outside call. */
export interface FetchOptions<State, Found> {
  /** The URL to GET. */
  readonly get: (target: FetchTarget) => string;
  /** Credentials and the like: asked for every call, never stored. */
  readonly headers?: (
    target: FetchTarget,
  ) => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>;
  readonly answer?: Schema<Found>;
  /** The state in the answer; `undefined` when it says that there is none, which leaves a tombstone. */
  readonly found: (json: Found) => FetchedState<NoInfer<State>> | undefined;
  /**
   * Statuses that mean that the resource was deleted. `[]` makes 404 a failure, for sources that forget, or
   * hide what a key may not see.
   *
   * @default [404, 410]
   */
  readonly goneOn?: readonly number[];
  /** Origins that may be called although they are not public https; everything else passes the SSRF guard. */
  readonly allow?: readonly string[];
  /** Longest time for one call. */
  readonly timeout?: Duration;
}

/** A fetch with the type of its answer erased; read by the worker only. */
export type FetchDefinition<State = unknown> = Omit<FetchOptions<State, unknown>, "found"> & {
  readonly found: (json: never) => FetchedState<State> | undefined;
};

/** A kind of thing whose whole state arrives in snapshots, or is asked for at its source. */
export interface Resource<in out State> {
  readonly kind: string;
  readonly schema: Schema<State>;
  readonly write?: WriteState<State>;
  readonly fetch?: FetchDefinition<State>;
  readonly revision?: (revision: string) => bigint | number;
}

/** A resource with the type of its state erased, as an application registers it. */
export type AnyResource = Omit<Resource<unknown>, "write" | "fetch" | "schema"> & {
  readonly schema: Schema<unknown>;
  readonly write?: WriteState<never>;
  readonly fetch?: FetchDefinition;
};

/** A whole state at a revision, or the deletion at that revision. */
export type SnapshotInput<State> = {
  readonly id: string;
  /**
   * An integer of any size, as a number, bigint or decimal text, or what the resource's `revision` reads.
   * Never a timestamp by default. `"unknown"` is for rows that are imported without one: it never replaces
   * anything that is known.
   */
  readonly revision: number | bigint | string;
} & ({ readonly state: State } | { readonly deleted: true });

/** `same`: this revision with this content is already kept. */
export type SnapshotResult = "applied" | "stale" | "same";

/** Settings of {@link resource}. */
export interface ResourceOptions<State, Found> {
  readonly state: Schema<State>;
  /** Follows the guard into a table of your own, in the same transaction. */
  readonly write?: WriteState<NoInfer<State>>;
  /**
   * Reads revisions that are no integers as integers that sort as they do: times of a source that never gives
   * one twice, versions with dots.
   */
  readonly revision?: (revision: string) => bigint | number;
  /**
   * How the resource is asked for at its source, for kinds without a reliable revision: events then only say
   * `refresh`. A kind with both is asked for when two events contradict each other.
   */
  readonly fetch?: FetchOptions<NoInfer<State>, Found>;
}

/**
 * Declares a kind of resource. One with a `fetch` is registered in `resources` of `defineApp`.
 *
 * @example
 * ```ts no-run
 * const customer = resource("customer", {
 *   state: type<{ email: string }>(),
 *   fetch: {
 *     get: ({ id }) => `https://shop.example/v1/customers/${encodeURIComponent(id)}`,
 *     answer: type<{ email: string }>(),
 *     found: ({ email }) => ({ state: { email } }),
 *   },
 * });
 * ```
 */
export function resource<State, Found = unknown>(
  kind: string,
  options: ResourceOptions<State, Found>,
): Resource<State> {
  const { state: schema, write, fetch, revision } = options;
  return {
    kind,
    schema,
    ...(write && { write }),
    ...(fetch && { fetch }),
    ...(revision && { revision }),
  };
}

/** Asks for a resource's state at its source, soon. */
export type Refresh = (resource: AnyResource, target: { readonly id: string }) => Promise<void>;
